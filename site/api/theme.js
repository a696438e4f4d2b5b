// Before anything is painted: the theme that was chosen in the documentation, else the system's.
const chosen = localStorage.getItem('vitepress-theme-appearance')
const isDark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
document.documentElement.classList.toggle('dark-mode', isDark)
