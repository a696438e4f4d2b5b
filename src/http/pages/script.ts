/**
 * The one script of the pages. The token of a one-time link or an invitation stands behind `#`, where no server and no log
 * sees it: it is put into the page's form and taken out of the address bar, and the form is sent where it says so.
 */
export const TOKEN_SCRIPT = `'use strict'
function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  const form = document.querySelector('form[data-token]')
  if (token === null || form === null) return
  history.replaceState(null, '', location.pathname)
  form.elements.token.value = token
  form.querySelector('.field').hidden = true
  if (form.dataset.token === 'send') form.submit()
}
takeToken()
addEventListener('hashchange', takeToken)
`
