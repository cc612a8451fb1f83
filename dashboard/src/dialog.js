// Asks for confirmation, after describing what will happen.
import { Vue, el } from "./el.js";
import { Refusal } from "./api.js";
import { forgetAccess, say, state } from "./state.js";

// `question` is {title, lines: [text], keys: [text], listed: the name of the list, prepare():
// lines, fields: [{name, label, ...}], confirm, act(values): text}.
export function confirm(question) {
  const values = {};
  for (const one of question.fields || []) values[one.name] = one.value || "";
  state.dialog = { ...question, values, lines: question.lines || [], error: "", isBusy: false,
    isPrepared: !question.prepare, asker: document.activeElement };
  if (question.prepare) prepare();
}

async function attempt(work) {
  const dialog = state.dialog;
  dialog.isBusy = true;
  dialog.error = "";
  try {
    return await work(dialog);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.status === 401) forgetAccess(error);
    dialog.error = error.status === 401 ? "The token or password is wrong. Enter it under Access."
      : error.message;
    return undefined;
  } finally {
    dialog.isBusy = false;
  }
}

function prepare() {
  attempt(async (dialog) => {
    const { lines, keys, isPossible } = await dialog.prepare();
    dialog.lines = lines;
    dialog.keys = keys;
    dialog.isPrepared = isPossible;
  });
}

export function close() {
  const asker = state.dialog && state.dialog.asker;
  state.dialog = null;
  if (asker && asker.isConnected) asker.focus();
}

async function go(event) {
  event.preventDefault();
  const done = await attempt((dialog) => dialog.act(dialog.values));
  if (done === undefined) return;
  close();
  say(done);
  dispatchEvent(new Event("reload"));
}

function inputs(dialog) {
  return (dialog.fields || []).map((one) => el("label.field", { key: one.name },
    el("span", one.label),
    el("input", { type: one.type || "text", placeholder: one.hint, required: one.isRequired,
      pattern: one.pattern, maxlength: one.maxLength, autocomplete: "off", spellcheck: "false",
      value: dialog.values[one.name],
      oninput: (event) => { dialog.values[one.name] = event.target.value; } })));
}

// The browser's native dialog keeps the focus inside and closes on Escape.
const Frame = {
  mounted() { this.$el.showModal(); },
  render() {
    const dialog = state.dialog;
    return el("dialog", { "aria-labelledby": "dialog-title", onclose: close,
      oncancel: (event) => { if (dialog.isBusy) event.preventDefault(); } },
    el("form", { onsubmit: go },
      el("h2", { id: "dialog-title" }, dialog.title),
      dialog.lines.map((line, index) => el("p", { key: index }, line)),
      dialog.keys && dialog.keys.length ? el("ul.keys",
        { tabindex: "0", "aria-label": dialog.listed || "Keys" },
        dialog.keys.map((key, index) => el("li", { key: index }, key))) : null,
      !dialog.isPrepared && dialog.isBusy ? el("p.muted", "Looking them up …") : null,
      inputs(dialog),
      dialog.error ? el("p.wrong", { role: "alert" }, dialog.error) : null,
      el("div.actions",
        el("button", { type: "button", onclick: close, autofocus: true },
          dialog.confirm ? "Cancel" : "Close"),
        dialog.confirm ? el("button.danger.solid", { type: "submit",
          disabled: dialog.isBusy || !dialog.isPrepared },
        dialog.isBusy && dialog.isPrepared ? "Working …" : dialog.confirm) : null)));
  },
};

const kFrame = Vue.extend(Frame);

export function dialogFrame() {
  return state.dialog ? el(kFrame, { key: "dialog" }) : null;
}
