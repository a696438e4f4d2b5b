/** The default theme of VitePress in the colors of the dashboard, with a link to it. */
import DefaultTheme from 'vitepress/theme-without-fonts'
import { h } from 'vue'
import './style.css'

/** Another application: the router of the site must not take it for a page. */
const dashboardLink = () => h('a', { class: 'dashboard-link', href: '/app/', target: '_self' }, 'Dashboard')

/** The home layout has no element of its own for the main content; pages have one. */
function nameMain(): void {
  const content = document.getElementById('VPContent')
  if (content?.querySelector('main') === null) content.setAttribute('role', 'main')
  else content?.removeAttribute('role')
}

// biome-ignore lint/style/noDefaultExport: VitePress looks for it.
export default {
  extends: DefaultTheme,
  enhanceApp({ router }: { readonly router: { onAfterRouteChange?: () => void } }) {
    if (typeof document !== 'undefined') router.onAfterRouteChange = () => void requestAnimationFrame(nameMain)
  },
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'nav-bar-content-after': dashboardLink,
      'nav-screen-content-after': dashboardLink,
    }),
}
