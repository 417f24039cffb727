"""What every room of the suite shares: a scrubbed environment."""

import os

for name in [key for key in os.environ if key.startswith(("ELIS_", "OPENAI_", "ANTHROPIC_"))]:
    del os.environ[name]
