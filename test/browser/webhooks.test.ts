/**
 * Webhooks in the dashboard, in a real browser, with receivers on loopback. Runs on one database: what is sent and shown is
 * the same on every one.
 */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import type { WebhookId } from '../../src/domain/ids.ts'
import { signWebhook } from '../../src/domain/webhook-signature.ts'
import { axeFindings, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'
import { HOSTILE_MARKUP } from '../support/http/hostile-markup.ts'
import { KINDS, type Received, type Receiver, startReceiver, whole } from '../support/webhooks/receiver.ts'
import { type LoggedEndpoints, logWebhooks } from '../support/webhooks/webhook-log.ts'

const OVER = { webhooks: { allow_private_networks: true } }

let browser: Browser
let dashboard: Dashboard
let receiver: Receiver
const endings: (() => unknown)[] = []

before(async () => {
  browser = await startBrowser()
  receiver = await startReceiver()
  dashboard = await startDashboard({ after: (end) => void endings.push(end as () => unknown) }, { over: OVER })
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
  await receiver?.close()
})

const open = (t: TestContext, path: string, options = {}): Promise<Page> => dashboard.open(t, browser, path, options)
const press = (within: Page | Locator, name: string) => within.getByRole('button', { name, exact: true }).click()
const dialogOf = (page: Page, name: string) => page.getByRole('dialog', { name, exact: true })
const act = async (page: Page, name: string): Promise<void> => {
  await press(page, 'More actions')
  await page.getByRole('menuitem', { name, exact: true }).click()
}

function isSignedWith(secret: string, { headers, bytes }: Received): boolean {
  const id = headers['webhook-id'] ?? ''
  const timestamp = Number(headers['webhook-timestamp'])
  const expected = signWebhook({ id, timestamp, body: bytes, secrets: [secret] })['webhook-signature']
  return (headers['webhook-signature'] ?? '').split(' ').includes(expected)
}

/** As after the last of its attempts, which is many hours later. */
async function giveUp(webhookId: string): Promise<void> {
  await dashboard.database.db
    .updateTable('delivery')
    .set({ status: 'failed', next_attempt_at: null, ended_at: Date.now() })
    .where('webhook_id', '=', webhookId as WebhookId)
    .where('status', '=', 'pending')
    .execute()
}

test('a webhook is added, its first event arrives, and the request can be read', async (t) => {
  const page = await open(t, '/webhooks')
  await page.getByText('No webhooks yet').waitFor()
  await page.getByText('turnpike webhooks listen --forward localhost:8000').waitFor()
  await press(page, 'Add webhook')
  const form = dialogOf(page, 'Add webhook')
  const url = form.getByLabel('Endpoint URL')
  await url.fill('ftp://receiver.example.com')
  await press(form, 'Add webhook')
  await form.locator('[aria-invalid="true"]').waitFor()
  assert.equal(await url.inputValue(), 'ftp://receiver.example.com', 'what was typed stays')
  const refusal = form.locator(`[id="${(await url.getAttribute('aria-describedby'))?.split(' ').at(-1)}"]`)
  assert.match(await refusal.innerText(), /such as https:/)
  await url.fill(`${receiver.url}/first`)
  await form.getByRole('radio', { name: 'Selected events' }).check()
  assert.ok(await form.getByRole('button', { name: 'Add webhook' }).isDisabled(), 'of some there is at least one')
  await form.getByRole('checkbox', { name: 'agent.failed' }).check()
  await form.getByLabel('Description').fill('First')
  await press(form, 'Add webhook')
  const made = dialogOf(page, 'Webhook added')
  await made.getByText(/^webhook\.test delivered: 200 in \d/).waitFor()
  const line = await made.getByRole('group', { name: 'Line for an .env file' }).innerText()
  const secret = await made.getByRole('group', { name: 'Secret', exact: true }).innerText()
  assert.equal(line, `TURNPIKE_WEBHOOK_SECRET=${secret}`)
  const [sent] = await receiver.until('/first', 1)
  assert.ok(sent !== undefined && isSignedWith(secret, sent))
  await page.keyboard.press('Escape')
  assert.ok(await made.isVisible(), 'the secret goes only when it was saved')
  await press(made, 'I have saved it')
  await made.waitFor({ state: 'detached' })
  await page.getByRole('heading', { level: 1, name: `127.0.0.1:${receiver.port}` }).waitFor()
  assert.ok(!(await page.content()).includes(secret))
  await readDelivery(page, sent.bytes.toString())
})

async function readDelivery(page: Page, body: string): Promise<void> {
  const row = page.getByRole('link', { name: 'webhook.test', exact: true })
  await row.focus()
  await page.keyboard.press('Enter')
  const sheet = dialogOf(page, 'webhook.test')
  await sheet.getByText(/^1\. Delivered: 200 in /).waitFor()
  assert.match(page.url(), /\?delivery=dlv_/)
  const shown = await sheet.getByRole('group', { name: 'Body of the request' }).innerText()
  assert.equal(JSON.stringify(JSON.parse(shown)), body)
  assert.equal(await sheet.getByRole('group', { name: 'Response to attempt 1' }).innerText(), 'thank you')
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'hidden' })
  assert.ok(!page.url().includes('delivery='))
  await page.locator(':focus', { hasText: /^webhook\.test$/ }).waitFor() // the focus is where it was
  await page.goBack()
  await sheet.waitFor()
  await page.reload()
  await sheet.getByText(/^1\. Delivered: /).waitFor()
}

test('a failed attempt is shown with its answer, which runs nothing; mended, it is sent again, alone and with others', async (t) => {
  const page = await open(t, '/webhooks')
  const { id } = await addByApi('/failing', HOSTILE_MARKUP.slice(0, 5).join(' ').slice(0, 500))
  await waitForAttempts(id, 1)
  receiver.answer('/failing', whole(500, HOSTILE_MARKUP.join('\n')))
  await page.addInitScript('globalThis.__hacked = (n) => { globalThis.__hackedBy = n }')
  await page.goto(`${dashboard.url}/app/webhooks/${id}`)
  await press(page, 'Send test event')
  const sheet = dialogOf(page, 'webhook.test')
  await sheet.getByText(/^1\. Failed: 500 in /).waitFor()
  await sheet.getByText('The receiver answered 500. Only 2xx counts as delivered.').waitFor()
  await sheet.getByText('Attempts are still pending.').waitFor()
  await showAllHostile(page, id)
  const answers = sheet.getByRole('group', { name: /^Response to attempt/ })
  assert.equal(await answers.count(), 12)
  assert.match(await answers.last().innerText(), /<script>/)
  assert.equal(await page.evaluate('globalThis.__hackedBy'), undefined)
  receiver.answer('/failing', KINDS.success)
  await press(sheet, 'Resend')
  await sheet.getByText(/^13\. Delivered: 200 in /).waitFor()
  await press(sheet, 'Close')
  await failAndResendAll(page, id)
})

/** As many attempts as it takes to have had every answer. */
async function showAllHostile(page: Page, webhookId: string): Promise<void> {
  const { db } = dashboard.database
  const open = db
    .selectFrom('delivery')
    .select(['id', 'account_id'])
    .where('webhook_id', '=', webhookId as WebhookId)
  const { id, account_id } = await open.where('status', '=', 'pending').executeTakeFirstOrThrow()
  const size = Math.ceil(HOSTILE_MARKUP.length / 11)
  const attempts = Array.from({ length: 11 }, (_, index) => ({
    ...{ account_id, delivery_id: id, number: index + 2, started_at: Date.now(), duration_ms: 5 },
    ...{ status: 500, error: 'status 500' },
    response: HOSTILE_MARKUP.slice(index * size, (index + 1) * size)
      .join('\n')
      .replaceAll('\0', ''),
  }))
  await db.insertInto('delivery_attempt').values(attempts).execute()
  await db.updateTable('delivery').set({ attempts: 12 }).where('id', '=', id).execute()
  await giveUp(webhookId)
  await page.reload()
  await page.getByText(/^12\. Failed: 500 in /).waitFor()
}

async function failAndResendAll(page: Page, webhookId: string): Promise<void> {
  receiver.answer('/failing', whole(503, 'away'), whole(503, 'away'), ...[KINDS.success])
  const before = receiver.at('/failing').length
  await sendTests(webhookId, 2)
  await receiver.until('/failing', before + 2)
  await waitForAttempts(webhookId, 2)
  await giveUp(webhookId)
  await page.locator('label', { hasText: 'Failed' }).click()
  await page.waitForURL(/status=failed/)
  await page.getByText('503').nth(1).waitFor()
  await press(page, 'Resend failed…')
  const dialog = dialogOf(page, 'Resend failed deliveries')
  await dialog.getByText('2 deliveries have failed in this period.').waitFor()
  await press(dialog, 'Resend 2 deliveries')
  await receiver.until('/failing', before + 4)
  await page.getByText('No failed deliveries').waitFor()
  await press(page, 'Show all')
  await page.getByRole('link', { name: 'webhook.test' }).nth(3).waitFor()
}

test('a secret is rotated with both good for an hour; tests go out, and the endpoint is edited, disabled, enabled and deleted', async (t) => {
  const { id, secret: old } = await addByApi('/rotated', 'Before')
  const page = await open(t, `/webhooks/${id}`)
  await act(page, 'Rotate secret')
  const dialog = dialogOf(page, 'Rotate secret')
  await dialog.getByRole('radio', { name: 'For 1 hour' }).check()
  await press(dialog, 'Rotate secret')
  const rotated = dialogOf(page, 'Secret rotated')
  const secret = await rotated.getByRole('group', { name: 'Secret', exact: true }).innerText()
  await press(rotated, 'I have saved it')
  await page.getByText('New and old').waitFor()
  await press(page, 'Send test event')
  const sheet = dialogOf(page, 'webhook.test')
  await sheet.getByText(/^1\. Delivered/).waitFor()
  const sent = receiver.at('/rotated').at(-1)
  assert.ok(sent !== undefined && isSignedWith(secret, sent) && isSignedWith(old, sent))
  await press(sheet, 'Close')
  await act(page, 'Edit')
  await dialogOf(page, 'Edit webhook').getByLabel('Description').fill('After')
  await press(dialogOf(page, 'Edit webhook'), 'Save')
  await page.getByText('After', { exact: true }).waitFor()
  await act(page, 'Disable')
  await press(page.getByRole('alertdialog'), 'Disable')
  await press(page, 'Enable again')
  await page.getByText('Enabled', { exact: true }).first().waitFor()
  await act(page, 'Delete')
  const confirm = page.getByRole('alertdialog')
  assert.ok(await confirm.getByRole('button', { name: 'Delete webhook' }).isDisabled())
  await confirm.getByRole('textbox').fill(`127.0.0.1:${receiver.port}`)
  await press(confirm, 'Delete webhook')
  await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
  await page.getByText('First', { exact: true }).waitFor()
  assert.equal(await page.getByText('After', { exact: true }).count(), 0)
})

test('an endpoint that answers 410 is reported as disabled, above the list, and enabled again there', async (t) => {
  receiver.answer('/gone', KINDS.gone)
  const { id } = await addByApi('/gone', '')
  await waitForAttempts(id, 1)
  const page = await open(t, '/webhooks')
  await page.getByText(/\/gone was disabled (just now|\d+ min ago): it answered 410 Gone/).waitFor()
  await press(page, 'Enable again')
  await page.getByText(/was disabled/).waitFor({ state: 'detached' })
  const answer = await ask('GET', `/${id}`)
  assert.equal(answer.status, 'enabled')
})

test('the verification code is in the address, language and all', async (t) => {
  const { id } = await addByApi('/verified', '')
  const page = await open(t, `/webhooks/${id}?tab=verification&language=python`)
  await page.getByText('hmac.compare_digest').waitFor()
  await page.getByRole('tab', { name: 'Ruby' }).click()
  await page.getByText('OpenSSL.secure_compare').waitFor()
  assert.match(page.url(), /language=ruby/)
  await page.goBack()
  await page.getByText('hmac.compare_digest').waitFor()
})

test('failed loading is reported and can be retried; users who may not see webhooks learn who may', async (t) => {
  const page = await open(t, '/models')
  let isBroken = true
  const error = { type: 'invalid_request', code: 'broken', message: 'This is broken.', request_id: 'req_broken' }
  await page.route('**/v1/webhooks?*', (route) =>
    isBroken ? route.fulfill({ status: 400, json: { error } }) : route.continue(),
  )
  await page.goto(`${dashboard.url}/app/webhooks`)
  await page.getByRole('alert').getByText('This is broken.').waitFor()
  await page.getByText('req_broken').waitFor()
  isBroken = false
  await press(page, 'Try again')
  await page.getByText('First', { exact: true }).waitFor()
  await page.goto(`${dashboard.url}/app/webhooks/whk_none`)
  await page.getByText('No webhook endpoint has this ID.').waitFor()
  const billing = await open(t, '/webhooks', { as: await dashboard.member('billing') })
  await billing.getByText('You cannot see webhooks').waitFor()
  await billing.getByText(/Owners, admins and developers/).waitFor()
  await billing.goto(`${dashboard.url}/app/webhooks/whk_none`)
  await billing.getByText('You cannot see webhooks').waitFor()
})

test('axe reports no issues in light and dark, nothing is wider than the window, and longer lists are paginated', async (t) => {
  const page = await open(t, '/webhooks', { bypassCSP: true, reducedMotion: 'reduce' })
  const endpoints = await logWebhooks(dashboard.database, dashboard.firstAccount)
  await visitViews(page, endpoints, async (name) => assert.deepEqual(await axeFindings(page), [], name))
  await page.emulateMedia({ colorScheme: 'dark' })
  await visitViews(page, endpoints, async (name) => {
    assert.deepEqual(await axeFindings(page), [], `${name}, dark`)
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 800 })
      assert.ok((await overflow(page)) <= 0, `${name}, ${width} px`)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
  })
  await page.goto(`${dashboard.url}/app/webhooks/${endpoints.busy}`)
  await press(page, 'Load more')
  await page
    .getByRole('link', { name: /^(agent|usage)/ })
    .nth(39)
    .waitFor()
})

type Look = (name: string) => Promise<void>

async function visitViews(page: Page, { busy, disabled }: LoggedEndpoints, look: Look): Promise<void> {
  const go = (path: string) => page.goto(`${dashboard.url}/app/webhooks${path}`)
  await go('')
  await page.getByText('Agents to chat').waitFor()
  await look('list')
  await go('?create=1')
  await page.getByRole('radio', { name: 'Selected events' }).check()
  await look('form')
  await go(`/${busy}?status=failed`)
  const failed = page.getByRole('link', { name: 'agent.started' })
  await failed.waitFor()
  await look('deliveries')
  await failed.click()
  await page.getByText(/^6\. Failed: /).waitFor()
  await look('delivery')
  await go(`/${disabled}?tab=verification`)
  await page.getByText('It receives no events until').waitFor()
  await look('verification')
}

async function ask(method: 'GET' | 'POST', path: string, body?: object) {
  const token = await dashboard.token(await dashboard.browser(dashboard.owner))
  const answer = await dashboard.ask(method, `/v1/webhooks${path}`, { token, ...(body && { body }) })
  assert.ok(answer.statusCode < 300, answer.body)
  return answer.json()
}

function addByApi(path: string, description: string): Promise<{ readonly id: string; readonly secret: string }> {
  return ask('POST', '', { url: receiver.url + path, description: description.replaceAll('\0', '') })
}

async function sendTests(webhookId: string, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent++) await ask('POST', `/${webhookId}/test`)
}

/** Until so many of its newest deliveries were tried. */
async function waitForAttempts(webhookId: string, count: number): Promise<void> {
  for (;;) {
    const { data } = await ask('GET', `/${webhookId}/deliveries?limit=${count}`)
    if (data.every(({ attempts }: { attempts: unknown[] }) => attempts.length > 0)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
