// Creates elements. Children that are strings become text, never markup.
import Vue from "/usr/share/javascript/vue/vue.runtime.esm.js";

Vue.config.productionTip = false;
Vue.config.devtools = false;

let create = null;
export function setCreator(creator) { create = creator; }

const kProperties = new Set(["value", "checked", "disabled", "open"]);

function dataOf(attributes, classes) {
  const data = { attrs: {}, on: {}, domProps: {}, class: [...classes] };
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") data.class.push(value);
    else if (name === "key" || name === "ref" || name === "style" || name === "props") {
      data[name] = value;
    } else if (name.startsWith("on")) data.on[name.slice(2)] = value;
    else if (kProperties.has(name)) data.domProps[name] = value;
    else if (value !== null && value !== undefined && value !== false) data.attrs[name] = value;
  }
  return data;
}

// el("td.num", {title: "..."}, child, [children]); the attributes are optional.
export function el(tag, ...rest) {
  const hasAttributes = rest.length > 0 && rest[0] !== null && typeof rest[0] === "object" &&
    !Array.isArray(rest[0]) && rest[0].constructor === Object;
  const attributes = hasAttributes ? rest.shift() : {};
  const [name, ...classes] = typeof tag === "string" ? tag.split(".") : [tag];
  const children = rest.flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === "number" ? String(child) : child));
  return create(name, dataOf(attributes, classes), children);
}

export { Vue };
