// What the list at the side shows, in its order: of all conversations those that are wanted, in groups. Keys that lead from one
// to the next go by it, too.

import { listed } from "./conversations.js";
import { date, day, inOrder, t } from "./language.js";
import { folded } from "./layout.js";
import { computed } from "./preact.js";
import { route } from "./router.js";
import { filter, query, showsArchived } from "./views.js";

const DAY = 24 * 3600 * 1000;

/** @typedef {{ name: string, isFolder: boolean, items: About[] }} Group */

export const groups = computed(() => {
  const text = query.value.trim().toLowerCase();
  const [field, value] = filter.value.split("=");
  const wanted = (item) =>
    (text ? (item.title ?? "").toLowerCase().includes(text) : item.archived === showsArchived.value) &&
    (!field || item[field] === value);
  return inGroups(listed.value.filter(wanted));
});

/**
 * What is pinned first, then folders by name, then days.
 * @param {About[]} items
 * @returns {Group[]}
 */
function inGroups(items) {
  const today = new Date().setHours(0, 0, 0, 0);
  const months = new Map();
  /** @type {Map<string, Group>} */
  const found = new Map();
  const put = (key, name, item) => {
    /** @type {Group} */
    const group = found.get(key) ?? { name, isFolder: key.startsWith("/"), items: [] };
    found.set(key, group);
    if (!group.isFolder || !folded.value.includes(name) || item.id === route.value.conversation) group.items.push(item);
  };
  for (const item of items) {
    if (item.pinned) put("pinned", t("pinned"), item);
    else if (item.folder) put(`/${item.folder}`, item.folder, item);
    else {
      const name = dayOf(item.updated_at, today, months);
      put(name, name, item);
    }
  }
  const rank = ([key, { isFolder }]) => (key === "pinned" ? 0 : isFolder ? 1 : 2);
  const among = (one, other) => rank(one) - rank(other) || (one[1].isFolder ? inOrder(one[1].name, other[1].name) : 0);
  return [...found].sort(among).map(([, group]) => group);
}

// A month is written once: of ten thousand conversations most share theirs with others.
function dayOf(updated, today, months) {
  const time = Date.parse(updated);
  if (time >= today) return day(0);
  if (time >= today - DAY) return day(-1);
  if (time >= today - 7 * DAY) return t("lastSevenDays");
  const at = new Date(time);
  const month = at.getFullYear() * 12 + at.getMonth();
  if (!months.has(month)) months.set(month, date(at, { month: "long", year: "numeric" }));
  return months.get(month);
}
