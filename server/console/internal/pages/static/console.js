// Keeps the living part of the page as it is on the server, over one stream, while the page can be seen.

const main = document.getElementById("main");
const living = document.getElementById("living");
const cut = document.getElementById("cut");
const button = document.getElementById("live");
const away = cut.textContent;
const cutOffAfter = 4000; // ms without the console, before the page says so

let stream = null;
let wanted = true; // the button is not pressed
let late = 0;

// become makes a node as another one is, and leaves alone what is equal: so the keyboard stays where it was.
function become(old, now) {
  if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName || old.id !== now.id) {
    old.replaceWith(now.cloneNode(true));
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== now.data) old.data = now.data;
    return;
  }
  for (const { name } of [...(old.attributes ?? [])]) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes ?? []) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const had = [...old.childNodes], has = [...now.childNodes];
  has.forEach((child, n) => (n < had.length ? become(had[n], child) : old.append(child.cloneNode(true))));
  had.slice(has.length).forEach((child) => child.remove());
}

function open() {
  if (stream || !wanted || document.hidden) return;
  stream = new EventSource(main.dataset.stream);
  stream.onopen = () => {
    clearTimeout(late);
    late = 0;
    cut.hidden = true;
    cut.textContent = away;
  };
  stream.onmessage = (event) => {
    const now = document.createElement("div");
    now.id = living.id;
    now.innerHTML = JSON.parse(event.data);
    become(living, now);
  };
  stream.onerror = () => {
    late ||= setTimeout(() => (cut.hidden = false), cutOffAfter);
    if (stream?.readyState !== EventSource.CLOSED) return; // it comes back by itself
    close();
    fetch(main.dataset.stream, { method: "HEAD" }).then(refused, () => {});
    setTimeout(open, cutOffAfter);
  };
}

// refused says why there is no stream, or leads to where to sign in.
function refused(answer) {
  if (answer.status === 401 || answer.status === 403) location.reload();
  if (answer.status === 429) cut.textContent = "Too many pages are followed live. Load this page again to see new numbers.";
}

function close() {
  stream?.close();
  stream = null;
}

if (main.dataset.stream && window.EventSource) {
  button.hidden = false;
  button.onclick = () => {
    wanted = !wanted;
    button.setAttribute("aria-pressed", wanted);
    button.textContent = wanted ? "live" : "paused";
    wanted ? open() : close();
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}

// A form is sent once, however often its button is pressed.
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));
