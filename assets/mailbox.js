// The mailbox of a development server.

// Times in the person's own zone.
for (const time of document.querySelectorAll("time")) {
  const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "medium" });
  time.textContent = format.format(new Date(time.dateTime));
}

// The mailbox looks for what is new while a person looks at it.
const box = document.querySelector("[data-mailbox]");
const look = async () => {
  if (document.hidden) return;
  const answer = await fetch("/mailbox", { headers: { accept: "application/json" } });
  const newest = (await answer.json()).items[0]?.id ?? "";
  if (newest === box.dataset.mailbox) return;
  if ("live" in box.dataset) location.reload();
  else document.querySelector("[data-news]").hidden = false;
};
if (box) {
  setInterval(() => look().catch(() => {}), 2000);
  addEventListener("visibilitychange", () => look().catch(() => {}));
}
