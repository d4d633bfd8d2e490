// Elements from values. Text goes in as text only: what hosts say is never markup.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setClass(node, name) {
  if (node.className !== name) node.className = name;
}

// A bar with its value; returns the element and what sets it.
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
