const element = (name, style, parent, text) => {
  const made = document.createElement(name);
  if (style) made.className = style;
  if (text !== undefined) made.textContent = text;
  parent?.appendChild(made);
  return made;
};
