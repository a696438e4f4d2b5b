/** The color theme: light, dark, or that of the system. `public/theme.js` reads the same key before the first paint. */
import { createChoiceStore } from './browser-store.ts'

export type Theme = 'system' | 'light' | 'dark'

const store = createChoiceStore<Theme>('theme', ['system', 'light', 'dark'])

export function readTheme(): Theme {
  const { theme } = document.documentElement.dataset
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

export function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  store.write(theme)
}

export function toggleTheme(): void {
  const theme = readTheme()
  const isDark = theme === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark'
  setTheme(isDark ? 'light' : 'dark')
}
