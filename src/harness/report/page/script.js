"use strict";
(() => {
  const find = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  for (const hidden of all("#theme, .filter, .tools")) hidden.hidden = false;

  const button = find("#theme");
  const isDark = () => {
    const theme = document.documentElement.dataset.theme;
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const name = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();

  // A link to a section opens it, also where the page is opened at it.
  const openTarget = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) { target.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  const cases = all(".case");
  find("#open").addEventListener("click", () => cases.forEach((one) => { one.open = !one.hidden || one.open; }));
  find("#close").addEventListener("click", () => cases.forEach((one) => { one.open = false; }));
  addEventListener("beforeprint", () => cases.filter((one) => "bad" in one.dataset).forEach((one) => { one.open = true; }));

  const rows = all(".matrix tbody tr");
  const words = find("#words");
  const only = find("#only");
  const filter = () => {
    const wanted = words.value.trim().toLowerCase();
    const shows = (text, item) =>
      text.toLowerCase().includes(wanted) && (!only || !only.checked || "bad" in item.dataset);
    rows.forEach((row) => { row.hidden = !shows(row.cells[0].textContent, row); });
    cases.forEach((one) => { one.hidden = !shows(one.querySelector("h3 > :last-child").textContent, one); });
    const shown = rows.filter((row) => !row.hidden).length;
    find("#found").textContent = shown === rows.length ? "" : `${shown} of ${rows.length} cases`;
  };
  find(".filter").addEventListener("submit", (event) => event.preventDefault());
  words.addEventListener("input", filter);
  if (only) only.addEventListener("change", filter);
})();
