// Elements without a template language. Text always arrives as text, so nothing a person types can become markup.

/** An element: attributes by name, listeners by `onclick` and the like, children as nodes or strings. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null && child !== false));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

/** Puts icons.svg into the page, unseen. A reference to the file would ask the network again for each new icon. */
export async function loadIcons() {
  const response = await fetch(new URL("icons.svg", import.meta.url));
  const sprite = new DOMParser().parseFromString(await response.text(), "image/svg+xml").documentElement;
  sprite.style.display = "none";
  document.body.append(document.adoptNode(sprite));
}

/** A picture of icons.svg; decoration only, so the button around it needs a name of its own. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#icon-${name}`);
  svg.append(use);
  return svg;
}

/** A button that shows an icon and is called `name` by tooltips and screen readers. */
export function iconButton(name, picture, onclick) {
  const attributes = { type: "button", class: "icon-button", "aria-label": name, title: name, onclick };
  return el("button", attributes, icon(picture));
}
