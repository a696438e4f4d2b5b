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
showReference()
