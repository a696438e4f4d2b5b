/** The part of `docs/providers.md` that is written by hand. */
export const ADDING_A_PROVIDER = `## Adding an OpenAI-compatible host

Takes ten minutes, most of them for reading the host's documentation.

1. **Write the file.**

   \`\`\`sh
   npm run -s new:provider -- examplehost --base-url https://api.examplehost.com/v1 \\
     --source https://docs.examplehost.com/api
   \`\`\`

   It creates \`src/providers/examplehost.ts\` and its test, registers the host in \`src/providers/index.ts\` and updates
   this page. \`--variable\` sets the variable of the key (default: \`EXAMPLEHOST_API_KEY\`), \`--name\` the name in the
   documentation; \`--no-variable\` creates a host without keys. The tests pass at once: they show the requests to a host
   that does not differ from the format, its own and those of \`test/contract/golden/fixtures/examplehost.json\`.

2. **Declare how it differs**, in the new file. Read the host's page on chat completions and go through
   \`src/protocols/openai-chat/options.ts\`: the name of the length limit, support of \`n\` and \`stream_options\`, hints
   to drop, parameters to reject, the field for reasoning. A difference without an option is an \`adapt…\` function in the
   host's own file (\`mistral.ts\` and \`perplexity.ts\` have some). Its name must not occur elsewhere; \`npm run check\`
   verifies that. \`npm run -s new:provider -- --golden examplehost\` writes its golden requests again: read the
   difference.

3. **Record it.** With a real key in its variable, or in the configuration file:

   \`\`\`sh
   EXAMPLEHOST_API_KEY=… npm run -s record -- examplehost --model their-model --out recordings
   \`\`\`

   It sends the standard cases through the host's own codec and stores what came back, byte for byte, with the request
   beside it. It writes nothing if a key would be in it. Read the files before you share them: answers can name
   your organisation. Then let every test of the recordings run over them:

   \`\`\`sh
   TURNPIKE_RECORDINGS=recordings npm test -- recordings
   \`\`\`

   A case whose outcome is \`the codec could not read it\` is a difference that step 2 has missed.

4. **Price its models.** An entry in \`catalogue/\` for each, with the page the price was read on and the day: copy a
   small file such as \`catalogue/xai.ts\` and add it to \`catalogue/index.ts\`; \`catalogue/entry.ts\` describes the
   fields. A model that fewer than two published collections know needs \`settled: { sources: 'why' }\`. Then:

   \`\`\`sh
   npm run -s catalogue:check
   \`\`\`

   It exits with 1 on what contradicts itself, and lists differences from published price collections, old sources,
   imminent shutdowns, and models without a price ([models.md](models.md)). An unknown price is \`null\`,
   never a guess.

5. **Finish.** \`npm test -- src/providers catalogue test/contract\` first, which takes seconds, then
   \`npm run generate:docs && npm run check && npm test\`.

## Recordings

\`npm run -s record -- PROVIDER [--model M] [--out DIR] [--only CASE,…]\` takes its provider from the configuration as the
server does: by name from the registry, or by the name the configuration file gives it. It asks for small answers and
sends each case once: text, tools (one, several at once, one without arguments, an answer to one), JSON schema, image,
reasoning, stop sequence, length, and the errors for a bad request, a wrong key and an unknown model; the first of
them whole and streamed.

The folder has the layout of the test data: \`<provider>/<case>.json\`, \`.sse\`, \`.bin\` or \`.txt\` is the answer's body,
\`<case>.request.json\` the request's, and \`manifest.json\` has their status, content type and other headers of a short
list. Keys are searched for in bodies as they are and as text (also across the pieces of a stream), in other encodings,
in the address and in headers; a part of a key counts too.
`
