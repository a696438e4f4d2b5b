/* global SwaggerUIBundle */
const showReference = async () => {
  const description = await (await fetch('/openapi.json')).json()
  SwaggerUIBundle({
    dom_id: '#reference',
    // Requests go to the gateway that served this page, whatever address its configuration has.
    spec: { ...description, servers: [{ url: location.origin }] },
    docExpansion: 'none',
    syntaxHighlight: false,
    defaultModelsExpandDepth: -1,
    tagsSorter: 'alpha',
    validatorUrl: null,
  })
}

const setMissing = (element, name, value) => element.hasAttribute(name) || element.setAttribute(name, value)
/** What Swagger UI leaves out for screen readers and the keyboard: names of fields and answers, and a way to scroll. */
const complete = () => {
  const reference = document.querySelector('#reference')
  for (const field of reference.querySelectorAll('select, textarea')) {
    const parameter = field.closest('[data-param-name]')?.dataset.paramName
    const usual = field.matches('select') ? 'Media type' : 'Body'
    if (field.labels.length === 0) setMissing(field, 'aria-label', parameter ?? usual)
  }
  for (const answers of reference.querySelectorAll('.responses-table[role=region]')) {
    setMissing(answers, 'aria-label', answers.id.replaceAll('_', ' '))
  }
  for (const example of reference.querySelectorAll('pre')) setMissing(example, 'tabindex', '0')
}
new MutationObserver(complete).observe(document.querySelector('#reference'), { childList: true, subtree: true })
showReference()
