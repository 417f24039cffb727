// Signs in with the code of the link. The code leaves the address bar first, so that no history keeps it.

const form = document.querySelector("[data-login]");
const say = document.querySelector("[data-say]");
const code = new URLSearchParams(location.search).get("code");

if (code) {
  history.replaceState(null, "", "/login");
  form.elements.code.value = code;
  say.textContent = "Signing in…";
  form.requestSubmit();
} else {
  say.textContent = "A link from “elis panel” opens this page and signs the browser in, once.";
  form.hidden = true;
}
