// Runs before the first paint, so that a chosen theme never flashes. src/frame/theme.ts writes what is read here.
(function () {
  try {
    var theme = localStorage.getItem("loam.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    if (localStorage.getItem("loam.rail") === "narrow") document.documentElement.dataset.rail = "narrow";
  } catch {
    // Storage may be blocked: the system's theme applies.
  }
})();
