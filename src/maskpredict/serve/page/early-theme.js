// A classic script on purpose: modules run after the first paint, and a remembered theme would flash.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system's theme is used.
}
