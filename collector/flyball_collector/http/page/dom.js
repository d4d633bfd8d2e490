// Creates elements. Text from hosts is inserted as text, never as markup.

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setClass(node, name) {
  if (node.className !== name) node.className = name;
}

// Show these children, and keep the elements that are already there, so that a click or a selection survives a refresh.
// Listeners of the new elements are not taken over: use it where only links react.
export function patchChildren(parent, ...children) {
  const fresh = children.filter((child) => child !== null && child !== undefined).map((child) => (typeof child === "string" ? document.createTextNode(child) : child));
  const old = [...parent.childNodes];
  fresh.forEach((child, place) => (place < old.length ? patch(old[place], child) : parent.append(child)));
  old.slice(fresh.length).forEach((child) => child.remove());
}

function patch(old, fresh) {
  if (old.nodeName !== fresh.nodeName) old.replaceWith(fresh);
  else if (old.nodeType === Node.TEXT_NODE) setText(old, fresh.textContent);
  else {
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of [...fresh.attributes]) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    patchChildren(old, ...fresh.childNodes);
  }
}

// Create a bar with its value. Return the element and a function that sets it.
export function meter(label = null) {
  const fill = element("div", { class: "fill" });
  const value = element("span", { class: "value" });
  const node = element("div", { class: "meter" }, label && element("span", { class: "label" }, label), element("div", { class: "track" }, fill), value);
  const set = (ratio, text, level = "") => {
    fill.style.width = ratio === null ? "0" : `${(Math.min(1, Math.max(0, ratio)) * 100).toFixed(1)}%`;
    setClass(fill, `fill ${level}`.trim());
    setText(value, text);
    setClass(value, ratio === null ? "value unknown" : "value");
  };
  return { node, set };
}
