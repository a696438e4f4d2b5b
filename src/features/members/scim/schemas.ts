/** What clients discover: RFC 7643, sections 5 to 7. */
export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'
export const ENTERPRISE_USER = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
export const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
export const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error'
/** Resources of a page at most. */
export const MAX_RESULTS = 200

export const SERVICE_PROVIDER_CONFIG = {
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: MAX_RESULTS },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'API key',
      description: 'An API key of the account with the scope scim, as a bearer token.',
      specUri: 'https://www.rfc-editor.org/info/rfc6750',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig' },
}

export const RESOURCE_TYPES = [
  {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: 'User',
    name: 'User',
    endpoint: '/Users',
    schema: USER,
    schemaExtensions: [{ schema: ENTERPRISE_USER, required: false }],
    meta: { resourceType: 'ResourceType' },
  },
  {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: 'Group',
    name: 'Group',
    endpoint: '/Groups',
    schema: GROUP,
    meta: { resourceType: 'ResourceType' },
  },
]

interface Attribute {
  readonly name: string
  readonly type?: 'string' | 'boolean' | 'complex'
  readonly multiValued?: boolean
  readonly required?: boolean
  readonly mutability?: 'readOnly' | 'readWrite'
  readonly uniqueness?: 'none' | 'server'
  readonly subAttributes?: readonly Attribute[]
}

function attribute({ subAttributes, ...given }: Attribute): object {
  return {
    type: 'string',
    multiValued: false,
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    ...given,
    ...(subAttributes && { subAttributes: subAttributes.map(attribute) }),
  }
}

const texts = (...names: readonly string[]): readonly Attribute[] => names.map((name) => ({ name }))

function schema(id: string, name: string, attributes: readonly Attribute[]) {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id,
    name,
    attributes: attributes.map(attribute),
    meta: { resourceType: 'Schema' },
  }
}

export const SCHEMAS = [
  schema(USER, 'User', [
    { name: 'userName', required: true, uniqueness: 'server' },
    { name: 'name', type: 'complex', subAttributes: texts('formatted', 'familyName', 'givenName') },
    ...texts('displayName', 'nickName', 'title', 'userType', 'preferredLanguage', 'locale', 'timezone'),
    { name: 'active', type: 'boolean' },
    {
      name: 'emails',
      type: 'complex',
      multiValued: true,
      subAttributes: [...texts('value', 'type'), { name: 'primary', type: 'boolean' }],
    },
    {
      name: 'groups',
      type: 'complex',
      multiValued: true,
      mutability: 'readOnly',
      subAttributes: texts('value', 'display'),
    },
  ]),
  schema(GROUP, 'Group', [
    { name: 'displayName', required: true, uniqueness: 'server' },
    { name: 'members', type: 'complex', multiValued: true, subAttributes: texts('value', 'display') },
  ]),
  schema(
    ENTERPRISE_USER,
    'EnterpriseUser',
    texts('employeeNumber', 'costCenter', 'organization', 'division', 'department'),
  ),
]
