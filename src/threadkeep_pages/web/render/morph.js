// Brings nodes that are on the page into the shape of new ones by changing as little as possible, so that a selection,
// a scroll position, the focus and images that were loaded survive while an answer grows.

/** Make the children of `shown` equal to those of `wanted`, whose nodes are used up. */
export function morph(shown, wanted) {
  const next = [...wanted.childNodes];
  while (shown.childNodes.length > next.length) shown.lastChild.remove();
  next.forEach((node, at) => {
    const now = shown.childNodes[at];
    if (!now) shown.append(node);
    else if (!now.isEqualNode(node) && !isSameImage(now, node)) become(now, node);
  });
}

const isSameImage = (now, node) => Boolean(now.dataset?.image) && now.dataset.image === node.dataset?.image;

function become(now, node) {
  if (now.nodeType === Node.TEXT_NODE && node.nodeType === Node.TEXT_NODE) {
    if (node.data.startsWith(now.data)) now.appendData(node.data.slice(now.data.length));
    else now.data = node.data;
  } else if (now.nodeName === node.nodeName && haveSameAttributes(now, node)) {
    morph(now, node);
  } else {
    now.replaceWith(node);
  }
}

function haveSameAttributes(one, other) {
  const names = one.getAttributeNames();
  return (
    names.length === other.getAttributeNames().length &&
    names.every((name) => one.getAttribute(name) === other.getAttribute(name))
  );
}
