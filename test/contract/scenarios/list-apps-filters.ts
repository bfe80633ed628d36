import { listed, type Scenario, type Table } from './scenario.ts'

/** A list with these parameters has these apps. */
type Filtered = Omit<Scenario, 'request' | 'status' | 'data'> & {
  query: string
  apps: string[]
  pages?: Parameters<typeof listed>[1]
}

const filtered = ({ query, apps, pages, ...more }: Filtered): Scenario => ({
  ...more,
  request: ['GET', `/apps?${query}`],
  status: 200,
  data: listed(apps, pages),
})

const tide = 'package_name=org.example.tideclock'
const onePage = /^Page 1 of 1\.$/
const noCategory = /^No category has the slug "nope"; GET \/categories lists them\.$/
const isEmpty = 'is empty, so no app matches; set it, or leave it out\\.'
const slugIsEmpty = new RegExp(`^slug ${isEmpty}$`)
const packageNameIsEmpty = new RegExp(`^package_name ${isEmpty}$`)

/** The parameters of listApps that choose apps: category, slug, package_name and search. */
export const listAppsFilters: Table = ({ keys }) => [
  ...[
    { name: 'filters by category', query: 'category=games', apps: ['Bird Song'] },
    { name: 'finds nothing in an empty category', query: 'category=empty', apps: [] },
    {
      name: 'finds nothing in an unknown category, and says where the categories are',
      query: 'category=nope',
      apps: [],
      message: noCategory,
    },
    { name: 'takes the longest category', query: `category=${'a'.repeat(80)}`, apps: [] },
    {
      name: 'finds nothing on a late page of an unknown category',
      query: 'category=nope&limit=100&page=100',
      apps: [],
      pages: { current_page: 100, per_page: 100 },
      message: noCategory,
    },
    {
      name: 'finds nothing by a search in an unknown category',
      query: 'category=nope&search=tide',
      apps: [],
      message: noCategory,
    },
    {
      name: 'finds nothing by a slug in an unknown category',
      query: 'slug=tide-clock&category=nope',
      apps: [],
      message: noCategory,
    },
    { name: 'ignores an empty category', query: 'category=', apps: ['Bird Song', 'Tide Clock'] },
    { name: 'ignores an empty search', query: 'search=', apps: ['Bird Song', 'Tide Clock'] },

    {
      name: 'finds an app by its slug, in any case',
      query: 'slug=Tide-CLOCK',
      apps: ['Tide Clock'],
      message: onePage,
    },
    {
      name: 'finds an app by its slug whatever the order',
      query: 'slug=tide-clock&sort=popular',
      apps: ['Tide Clock'],
    },
    {
      name: 'finds nothing by the beginning of a slug',
      query: 'slug=tide',
      apps: [],
      message: /^No apps match\.$/,
    },
    {
      name: 'finds an app by its package name, in any case',
      query: 'package_name=Org.Example.TideClock',
      apps: ['Tide Clock'],
    },
    {
      name: 'finds an app by its package name whatever the order',
      query: `${tide}&sort=rating`,
      apps: ['Tide Clock'],
    },
    {
      name: 'does not find a deleted app by its package name',
      query: 'package_name=org.example.gone',
      apps: [],
    },
    {
      name: 'finds an app that has the slug and the package name',
      query: `slug=tide-clock&${tide}`,
      apps: ['Tide Clock'],
    },
    {
      name: 'finds nothing if the slug and the package name are those of two apps',
      query: `slug=bird-song&${tide}`,
      apps: [],
    },
    {
      name: 'finds an app by its slug in its category',
      query: 'slug=tide-clock&category=tools',
      apps: ['Tide Clock'],
    },
    {
      name: 'finds nothing by the slug of an app in another category',
      query: 'slug=tide-clock&category=games',
      apps: [],
    },
    {
      name: 'finds an app by its package name in its category',
      query: `${tide}&category=tools`,
      apps: ['Tide Clock'],
    },
    {
      name: 'finds nothing by the package name of an app in another category',
      query: `${tide}&category=games`,
      apps: [],
    },
    {
      name: 'shows an empty second page of the app with the slug',
      query: 'slug=tide-clock&page=2',
      apps: [],
      pages: { current_page: 2, total_pages: 1 },
    },

    {
      name: 'finds nothing by an empty slug, and says that it is empty',
      query: 'slug=',
      apps: [],
      message: slugIsEmpty,
      headers: { Link: /^<[^<>]+\/apps\?slug=&page=1&limit=20>; rel="first"$/ },
    },
    {
      name: 'finds nothing by an empty package name in an order and a search',
      query: 'package_name=&search=tide&sort=popular',
      apps: [],
      message: packageNameIsEmpty,
    },
    {
      name: 'finds nothing by an empty slug and an empty package name, and says so of both',
      query: 'slug=&package_name=',
      apps: [],
      message: new RegExp(`^slug ${isEmpty} package_name ${isEmpty}$`),
    },
    {
      name: 'finds nothing by a slug of white space',
      query: 'slug=%20%09',
      apps: [],
      message: slugIsEmpty,
    },
    {
      name: 'finds nothing by an empty slug beside the package name of an app',
      query: `slug=&${tide}`,
      apps: [],
      message: slugIsEmpty,
    },
    {
      name: 'finds nothing by an empty package name beside the slug of an app',
      query: 'slug=tide-clock&package_name=',
      apps: [],
      message: packageNameIsEmpty,
    },
    {
      name: 'finds nothing by an empty slug in an unknown category',
      query: 'slug=&category=nope',
      apps: [],
      message: slugIsEmpty,
    },
    {
      name: 'shows an empty late page of an empty slug',
      query: 'slug=&page=200',
      apps: [],
      pages: { current_page: 200 },
      message: slugIsEmpty,
    },
    {
      name: 'finds nothing by a slug and a package name with NUL',
      query: 'slug=%00&package_name=%00',
      apps: [],
    },

    { name: 'searches names', query: 'search=tide', apps: ['Tide Clock'] },
    {
      name: 'searches within a category',
      query: 'search=here&category=games',
      apps: ['Bird Song'],
    },
    {
      name: 'does not find pending, rejected and deleted apps',
      query: 'search=here',
      apps: ['Tide Clock', 'Bird Song'],
    },
    {
      name: 'searches the app with the slug',
      query: 'slug=tide-clock&search=here',
      apps: ['Tide Clock'],
    },
    {
      name: 'searches the app with the slug in an order',
      query: 'slug=tide-clock&search=here&sort=popular',
      apps: ['Tide Clock'],
    },
    {
      name: 'says nothing about other apps that the search finds, if the app with the slug has all words',
      query: 'slug=tide-clock&search=tide+here+clock',
      apps: ['Tide Clock'],
      message: onePage,
    },
    {
      name: 'searches the app with the package name',
      query: `${tide}&search=here`,
      apps: ['Tide Clock'],
    },
    {
      name: 'finds nothing if the app with the slug does not match the search',
      query: 'slug=tide-clock&search=bird',
      apps: [],
    },
    { name: 'treats operators as text', query: 'search=%22%27*%20AND', apps: ['Tide Clock'] },
    {
      name: 'finds nothing for text without a letter, digit or emoji',
      query: 'search=%22%27*%20%2B',
      apps: [],
    },
    { name: 'treats a stray percent sign as text', query: 'search=100%', apps: [] },
  ].map(filtered),

  {
    name: 'does not find a pending app by its slug, even with the key of its owner',
    request: ['GET', '/apps?slug=cloud-atlas', { key: keys.ada }],
    status: 200,
    data: listed([]),
  },
  {
    name: 'counts a search in code points',
    request: ['GET', `/apps?search=${encodeURIComponent('𝒜'.repeat(100))}`],
    status: 200,
  },
  ...[
    { what: 'a slug over 80 characters', query: `slug=${'a'.repeat(81)}` },
    { what: 'a package name over 255 characters', query: `package_name=${'a'.repeat(256)}` },
    { what: 'a search over 100 characters', query: `search=${'a'.repeat(101)}` },
    { what: 'a repeated search', query: 'search=a&search=b' },
  ].map(
    ({ what, query }): Scenario => ({
      name: `refuses ${what}`,
      request: ['GET', `/apps?${query}`],
      status: 400,
      problems: [`query ${query.split('=', 1)}`],
    }),
  ),
]
