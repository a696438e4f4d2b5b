// Before anything is painted, and when the system's theme changes: the theme that was chosen in the documentation, else the system's.
const system = matchMedia('(prefers-color-scheme: dark)')
const showTheme = () => {
  const chosen = localStorage.getItem('vitepress-theme-appearance')
  const isDark = chosen === 'dark' || (chosen !== 'light' && system.matches)
  document.documentElement.classList.toggle('dark-mode', isDark)
}
showTheme()
system.addEventListener('change', showTheme)
