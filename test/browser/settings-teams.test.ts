/** Settings of a team in the dashboard. Runs on one database: what is stored is tested with the API. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'

let browser: Browser
let dashboard: Dashboard
const endings: (() => unknown)[] = []

before(async () => {
  browser = await startBrowser()
  dashboard = await startDashboard({ after: (end) => void endings.push(end as () => unknown) })
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
})

const dialog = (page: Page) => page.getByRole('dialog')
const field = (page: Page, name: string) => dialog(page).getByLabel(name, { exact: true })

async function edit(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  for (const [name, value] of Object.entries(fields)) await field(page, name).fill(value)
  await dialog(page).getByRole('button', { name: 'Save changes' }).click()
}

/** What the page says below “Limits and tags”. */
async function shown(page: Page, label: string, value: string): Promise<void> {
  const term = page.getByRole('term').filter({ hasText: new RegExp(`^${label}$`) })
  await page.locator('div').filter({ has: term }).last().getByText(value, { exact: true }).waitFor()
}

test('tags of a team, and those that its requests must have, are set, changed and removed', async (t) => {
  const token = await dashboard.token(await dashboard.browser(dashboard.owner))
  const page = await dashboard.open(t, browser, '/settings/teams')
  await page.getByRole('button', { name: 'Create team' }).first().click()
  await dialog(page).getByLabel('Name').fill('Orbit')
  await field(page, 'Tags').fill('Mission=1')
  await dialog(page).getByText('“Mission=1” is not key=value').first().waitFor()
  await field(page, 'Tags').fill('mission=mercury\nenv=prod')
  await field(page, 'Required tags').fill('customer, customer')
  await dialog(page).getByRole('button', { name: 'Create team' }).click()
  const refusal = "'require_tags' must NOT have duplicate items (items ## 1 and 0 are identical)."
  const described = await field(page, 'Required tags')
    .and(page.locator('[aria-invalid=true]'))
    .getAttribute('aria-describedby')
  assert.equal(await page.locator(`[id="${described?.split(' ').at(-1)}"]`).innerText(), refusal)
  await field(page, 'Required tags').fill('customer')
  await dialog(page).getByRole('button', { name: 'Create team' }).click()
  await page.getByRole('heading', { name: 'Orbit', level: 1 }).waitFor()
  await shown(page, 'Tags', 'mission=mercury, env=prod')
  await shown(page, 'Required tags', 'customer')

  const stored = async () => {
    const id = new URL(page.url()).pathname.split('/').at(-1)
    const team = (await dashboard.ask('GET', `/v1/teams/${id}`, { token })).json<Record<string, unknown>>()
    return [team['tags'], team['require_tags']]
  }
  assert.deepEqual(await stored(), [{ mission: 'mercury', env: 'prod' }, ['customer']])
  await edit(page, { Tags: 'mission=gemini', 'Required tags': 'customer env' })
  await shown(page, 'Tags', 'mission=gemini')
  await shown(page, 'Required tags', 'customer, env')
  assert.deepEqual(await stored(), [{ mission: 'gemini' }, ['customer', 'env']])
  await edit(page, { Tags: '', 'Required tags': '' })
  await shown(page, 'Tags', 'None')
  await shown(page, 'Required tags', 'None')
  assert.deepEqual(await stored(), [{}, []])
})

test('the data policy of a team is set, shown and removed', async (t) => {
  const token = await dashboard.token(await dashboard.browser(dashboard.owner))
  const page = await dashboard.open(t, browser, '/settings/teams')
  await page.getByRole('button', { name: 'Create team' }).first().click()
  await dialog(page).getByLabel('Name').fill('Strict')
  await dialog(page).getByRole('checkbox', { name: 'Only deployments with zero data retention' }).check()
  await field(page, 'Regions').fill('eu, ch')
  await dialog(page).getByRole('button', { name: 'Create team' }).click()
  await page.getByRole('heading', { name: 'Strict', level: 1 }).waitFor()
  await shown(page, 'Data policy', 'Zero data retention, in eu or ch')
  const stored = async () => {
    const id = new URL(page.url()).pathname.split('/').at(-1)
    return (await dashboard.ask('GET', `/v1/teams/${id}`, { token })).json<Record<string, unknown>>()['data_policy']
  }
  assert.deepEqual(await stored(), { zdr: true, regions: ['eu', 'ch'] })
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await dialog(page).getByRole('checkbox', { name: 'Only deployments with zero data retention' }).uncheck()
  await field(page, 'Regions').fill('')
  await dialog(page).getByRole('button', { name: 'Save changes' }).click()
  await shown(page, 'Data policy', 'None of the team')
  assert.equal(await stored(), null)
})
