/** The authorization server in `/openapi.json`. Requests are read by `parameters.ts`, which knows forms as well. */
import { type TObject, Type } from 'typebox'

const tags = ['OAuth']

const ErrorBody = Type.Object({
  error: Type.String({ description: 'One of RFC 6749, 5.2, RFC 8628, 3.5.' }),
  error_description: Type.String({ description: 'For people; may change.' }),
})
const errors = { '4xx': ErrorBody, '5xx': ErrorBody }
/** Anybody may call them. */
const security: [] = []

const ClientId = Type.String({ description: '`turnpike-cli`, `turnpike-ide`, or one of the configuration.' })
const Scope = Type.String({ description: 'Names with spaces between.' })

function bodyOf(properties: TObject) {
  return { body: properties, consumes: ['application/x-www-form-urlencoded', 'application/json'], security, tags }
}

export const codeSchema = {
  ...bodyOf(Type.Object({ client_id: ClientId, scope: Type.Optional(Scope) })),
  summary: 'Begin the device flow',
  description: 'RFC 8628. Show the user `verification_uri` and `user_code`, and poll `/oauth/token`.',
  response: {
    200: Type.Object({
      device_code: Type.String(),
      user_code: Type.String({ description: '`XXXX-XXXX`.' }),
      verification_uri: Type.String(),
      verification_uri_complete: Type.String({ description: 'For a QR code. It approves nothing by itself.' }),
      expires_in: Type.Integer({ description: 'Seconds.' }),
      interval: Type.Integer({ description: 'Seconds between polls.' }),
    }),
    ...errors,
  },
}

export const tokenSchema = {
  ...bodyOf(
    Type.Object({
      grant_type: Type.String({ description: '`urn:ietf:params:oauth:grant-type:device_code` or `refresh_token`.' }),
      client_id: Type.Optional(ClientId),
      device_code: Type.Optional(Type.String()),
      refresh_token: Type.Optional(Type.String()),
      scope: Type.Optional(Scope),
    }),
  ),
  summary: 'Get tokens',
  description: 'For an approved device code, once, or for a refresh token, which is replaced each time.',
  response: {
    200: Type.Object({
      access_token: Type.String(),
      token_type: Type.Literal('Bearer'),
      expires_in: Type.Integer({ description: 'Seconds.' }),
      refresh_token: Type.Optional(Type.String({ description: 'With the scope `offline_access`.' })),
      scope: Type.String({ description: 'What was granted.' }),
    }),
    ...errors,
  },
}

export const revokeSchema = {
  ...bodyOf(Type.Object({ token: Type.String(), client_id: Type.Optional(ClientId) })),
  summary: 'Disconnect a device',
  description: 'RFC 7009. By either of its tokens; 200 also for one that nobody has.',
  response: { 200: Type.Object({}), ...errors },
}

export const metadataSchema = {
  summary: 'Describe the authorization server',
  description: 'RFC 8414.',
  tags,
  security,
  response: { 200: Type.Object({ issuer: Type.String() }, { additionalProperties: true }), ...errors },
}
