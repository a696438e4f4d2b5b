// Before anything is painted: the theme that was chosen in this browser. Nothing chosen: the system's.
try {
  const theme = localStorage.getItem('turnpike.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage may be closed to pages; then the system decides.
}
