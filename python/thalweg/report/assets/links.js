// What is selected in one part of the page is selected in those that belong to it.

const listeners = new Map();

/** Calls back with the key that is selected in parts of this link, null for none. */
function onSelect(link, callback) {
  if (!listeners.has(link)) listeners.set(link, []);
  listeners.get(link).push(callback);
}

/** Selects a key. `source` is the callback of the part where it was selected, which needn't scroll. */
function select(link, key, source) {
  for (const callback of listeners.get(link) || []) callback(key, callback === source);
}

const tip = document.getElementById("pointed");

/** Shows text beside the pointer. */
function showTip(text, event) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 4))}px`;
  tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 8 : event.clientY + 18}px`;
}

function hideTip() { tip.hidden = true; }
