/** Light, dark, or as the system has it. `public/theme.js` reads the same before the first paint. */
export type Theme = 'system' | 'light' | 'dark'

const SETTING = 'turnpike.theme'

export function readTheme(): Theme {
  const { theme } = document.documentElement.dataset
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

export function setTheme(theme: Theme): void {
  if (theme === 'system') {
    delete document.documentElement.dataset['theme']
    localStorage.removeItem(SETTING)
    return
  }
  document.documentElement.dataset['theme'] = theme
  localStorage.setItem(SETTING, theme)
}

export function toggleTheme(): void {
  const theme = readTheme()
  const isDark = theme === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark'
  setTheme(isDark ? 'light' : 'dark')
}
