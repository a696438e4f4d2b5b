/** From sign-in to a revoked key by the keyboard alone. Runs on one database: what is typed is the same on every one. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { comesTrue, openWindow, startBrowser } from '../support/browser/browser.ts'
import { startSite } from '../support/browser/site.ts'

let browser: Browser

before(async () => {
  browser = await startBrowser()
})
after(() => browser?.close())

const MAX_TABS = 80
const HAS_FOCUS = 'document.activeElement !== document.body'
/** The outline of the focus is there, on the row for its link, or the cursor of the one field of a dialog. */
const HIDDEN_FOCUS = `(() => {
  const { activeElement: element } = document
  const { outlineStyle, outlineWidth } = getComputedStyle(element.closest('.linked-row:has(.row-link:focus)') ?? element)
  const hasOutline = outlineStyle !== 'none' && parseFloat(outlineWidth) > 0
  const isShown = (element.matches(':focus-visible') && hasOutline) || element.closest('.palette-popup') !== null
  return isShown ? undefined : element.outerHTML.slice(0, 300)
})()`

const isFocused = async (place: Locator): Promise<boolean> =>
  (await place.and(place.page().locator(':focus')).count()) === 1

/** Presses Tab until the focus, which has to be seen at each stop, is where it is to be. */
async function tabTo(place: Locator): Promise<void> {
  const page = place.page()
  await place.waitFor()
  for (let presses = 0; presses < MAX_TABS && !(await isFocused(place)); presses += 1) {
    await page.keyboard.press('Tab')
    if (await page.evaluate(HAS_FOCUS)) assert.equal(await page.evaluate(HIDDEN_FOCUS), undefined)
  }
  assert.ok(await isFocused(place), `Tab reaches ${place}`)
}

async function press(place: Locator): Promise<void> {
  await tabTo(place)
  await place.page().keyboard.press('Enter')
}

/** A dialog is gone, and the focus is somewhere on the page and seen. */
async function isClosed(dialog: Locator): Promise<void> {
  await dialog.waitFor({ state: 'detached' })
  await keepsFocus(dialog.page())
}

/** Not a notice, which has the same role and may name the same thing. */
function openedDialog(page: Page, name = ''): Locator {
  return page.getByRole('dialog', { name }).filter({ has: page.locator('[data-dialog-body]') })
}

async function keepsFocus(page: Page): Promise<void> {
  assert.ok(await comesTrue(page, HAS_FOCUS), 'the focus is on the page')
}

async function command(page: Page, text: string, option: RegExp): Promise<void> {
  await page.keyboard.press('Control+k')
  const palette = page.getByRole('dialog', { name: 'Search or jump to' })
  await palette.locator(':focus').waitFor()
  await page.keyboard.type(text)
  await page.locator('[role=option][data-highlighted]').filter({ hasText: option }).waitFor()
  await page.keyboard.press('Enter')
  await palette.waitFor({ state: 'detached' })
}

const button = (place: Page | Locator, name: string | RegExp) => place.getByRole('button', { name, exact: true })

async function createKey(page: Page, name: string): Promise<void> {
  const form = page.getByRole('dialog', { name: 'Create an API key' })
  await form.getByLabel('Name').and(page.locator(':focus')).waitFor()
  await page.keyboard.type(name)
  await press(button(form, 'Create key'))
  const secret = page.getByRole('dialog', { name: 'Save your key now' })
  await press(button(secret, 'I have saved it'))
  await isClosed(secret)
  await page.getByRole('link', { name }).waitFor()
}

/** @returns ID of the completion. */
async function askModel(page: Page): Promise<string> {
  const model = page.getByRole('combobox', { name: /^Model/ }).first()
  await tabTo(model)
  await page.keyboard.type('m1')
  await page.getByRole('option').first().waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await tabTo(page.getByLabel('Message', { exact: true }))
  await page.keyboard.type('Hello')
  await press(button(page, 'Run'))
  const details = page.getByRole('link', { name: 'Details' })
  await tabTo(details)
  return new URL((await details.getAttribute('href')) ?? '', page.url()).searchParams.get('request') ?? ''
}

test('signing in, creating a key, asking a model, finding the request and revoking the key take no mouse', async (t) => {
  const site = await startSite(t, { withProvider: true, withDashboard: true })
  const page = await openWindow(t, browser)
  await page.goto(`${site.url}/app/`)
  await press(page.getByRole('link', { name: 'Continue with Example Works' }))
  await tabTo(page.getByLabel('Name'))
  await page.keyboard.type('ada')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${site.url}/app/`)

  await page.getByRole('heading', { level: 1 }).waitFor()
  await command(page, 'create an api', /^Create an API key/)
  await createKey(page, 'Backend')
  await press(button(page, 'Create key').first())
  await createKey(page, 'Worker')

  await press(page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Playground' }))
  const completion = await askModel(page)
  await command(page, completion, /^Find/)
  const sheet = openedDialog(page)
  await sheet.getByText(completion).first().waitFor()
  await page.keyboard.press('Escape')
  await isClosed(sheet)

  await command(page, 'api keys', /^API keys/)
  await press(button(page, 'Actions for Backend'))
  const revoke = page.getByRole('menuitem', { name: 'Revoke' })
  await revoke.waitFor()
  for (let presses = 0; presses < 10 && !(await isFocused(revoke)); presses += 1) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await confirmRevocation(page)
  await page.getByRole('link', { name: 'Backend' }).waitFor({ state: 'detached' })
  await keepsFocus(page)

  await press(page.getByRole('link', { name: 'Worker' }))
  const key = openedDialog(page, 'Worker')
  await press(button(key, 'Revoke'))
  await confirmRevocation(page)
  await button(key, 'Revoke').waitFor({ state: 'detached' })
  await keepsFocus(page)
  await page.keyboard.press('Escape')
  await isClosed(key)
  assert.equal(await page.getByRole('link', { name: 'Worker' }).count(), 0)
})

async function confirmRevocation(page: Page): Promise<void> {
  const question = page.getByRole('alertdialog')
  await press(button(question, 'Revoke key'))
  await isClosed(question)
}
