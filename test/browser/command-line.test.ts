/** The command line's way through a real browser and back. Runs on one database: what is decided in it, other tests look at. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { openWindow, startBrowser } from '../support/browser.ts'
import { eventually } from '../support/client.ts'
import { makeHome } from '../support/command-line.ts'
import { startSite } from '../support/site.ts'

let browser: Browser

before(async () => {
  browser = await startBrowser()
})
after(() => browser?.close())

test('J3: the waiting login goes on when it is approved, chat streams, and who is disconnected is told what to do', async (t) => {
  const site = await startSite(t, { withProvider: true })
  const home = makeHome()
  t.after(home.remove)
  const login = home.start(['login', '--url', site.url, '--insecure-file'])
  t.after(() => login.child.kill())
  const code = /[B-Z]{4}-[B-Z]{4}/
  const shown = await eventually(
    async () => login.stdout(),
    (text) => code.test(text),
    20_000,
  )
  const page = await openWindow(t, browser)
  await page.goto(`${site.url}/activate`)
  await page.getByRole('link', { name: 'Continue with Example Works' }).click()
  await page.getByLabel('Name').fill('ada')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByLabel('Code').fill(code.exec(shown)?.[0] ?? '')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Says it is turnpike-cli on').waitFor()
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('heading', { name: 'Your device is connected' }).waitFor()
  const signedIn = await login.ended
  assert.match(signedIn.stdout, /Signed in to \S+ as ada@example\.com, account Default/)
  const answer = await home.run(['chat'], { input: 'hello' })
  assert.deepEqual([answer.code, answer.stdout.trim().length > 0], [0, true], answer.stderr)
  const key = await site.key(site.firstAccount)
  const { data } = (await site.ask('GET', '/v1/devices', { token: key })).json<{ data: { id: string }[] }>()
  assert.equal((await site.ask('DELETE', `/v1/devices/${data[0]?.id}`, { token: key })).statusCode, 204)
  const refused = await home.run(['chat'], { input: 'hello' })
  assert.notEqual(refused.code, 0)
  assert.match(refused.stderr, /Run 'turnpike login --url/)
})
