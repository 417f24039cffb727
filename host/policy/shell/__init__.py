"""What a shell text would run, and whether that only reads: pure analysis, a heuristic beside the sandbox (POL-5).

Read from `analysis` downwards: `syntax` parses, `script` lists the simple commands, `wrappers` and `unfolding` undo
what stands around them, `reading`, `floor` and `rights` judge each, `patterns` matches denials and grants.
"""
