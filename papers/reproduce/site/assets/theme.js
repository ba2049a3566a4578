"use strict";
// Before the page is drawn, so that it does not flash.
function kept(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null; // A browser that keeps nothing: the choice lasts as long as the page.
  }
}
document.documentElement.dataset.script = "on";
if (kept("theme")) document.documentElement.dataset.theme = kept("theme");
