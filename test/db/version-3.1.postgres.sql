-- A database of version 3.1, written by: pg_dump --inserts --no-owner --no-privileges apps
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.audit_refuses() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ begin raise exception 'audit is append-only'; end $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.api_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    developer_id bigint NOT NULL,
    name text COLLATE pg_catalog."C",
    sha256 text NOT NULL COLLATE pg_catalog."C",
    created_at text NOT NULL COLLATE pg_catalog."C",
    expires_at text NOT NULL COLLATE pg_catalog."C",
    revoked_at text COLLATE pg_catalog."C",
    last_used_at text COLLATE pg_catalog."C"
);
CREATE TABLE public.app_names (
    id bigint NOT NULL,
    tokens tsvector NOT NULL
);
CREATE TABLE public.app_search (
    app_id bigint NOT NULL,
    rank bigint NOT NULL,
    name_words text NOT NULL COLLATE pg_catalog."C",
    tokens tsvector NOT NULL,
    sequence text COLLATE pg_catalog."C",
    spaces text DEFAULT repeat(' '::text, 2048) NOT NULL,
    CONSTRAINT app_search_app_id_check CHECK ((app_id < '1099511627776'::bigint))
)
WITH (toast_tuple_target='128');
ALTER TABLE ONLY public.app_search ALTER COLUMN name_words SET STORAGE MAIN;
ALTER TABLE ONLY public.app_search ALTER COLUMN tokens SET STATISTICS 300;
ALTER TABLE ONLY public.app_search ALTER COLUMN tokens SET STORAGE EXTERNAL;
ALTER TABLE ONLY public.app_search ALTER COLUMN sequence SET STORAGE EXTERNAL;
CREATE TABLE public.apps (
    id bigint NOT NULL,
    developer_id bigint NOT NULL,
    category_id bigint NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    deleted_at text COLLATE pg_catalog."C",
    approved_at text COLLATE pg_catalog."C",
    unreviewed_since text COLLATE pg_catalog."C",
    created_at text NOT NULL COLLATE pg_catalog."C",
    updated_at text NOT NULL COLLATE pg_catalog."C",
    total_downloads bigint DEFAULT '0'::bigint NOT NULL,
    average_rating double precision DEFAULT '0'::double precision NOT NULL,
    review_count bigint DEFAULT '0'::bigint NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    package_name text COLLATE pg_catalog."C",
    package_key text COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    short_description text COLLATE pg_catalog."C",
    rejection_reason text COLLATE pg_catalog."C",
    description text NOT NULL COLLATE pg_catalog."C",
    other_rating_sum bigint DEFAULT 0 NOT NULL,
    other_rating_count bigint DEFAULT 0 NOT NULL,
    rating_sum bigint DEFAULT 0 NOT NULL,
    rating_count bigint DEFAULT 0 NOT NULL,
    weighted_rating bigint DEFAULT 0 NOT NULL,
    unreviewed_changes text COLLATE pg_catalog."C",
    changed_at text DEFAULT '2026-11-29T12:50:10.998Z'::text NOT NULL COLLATE pg_catalog."C",
    revision text DEFAULT 'first'::text NOT NULL COLLATE pg_catalog."C",
    website_url text COLLATE pg_catalog."C",
    source_code_url text COLLATE pg_catalog."C",
    license text COLLATE pg_catalog."C",
    decided_at text COLLATE pg_catalog."C",
    CONSTRAINT apps_approved_at CHECK (((status <> 'approved'::text) OR (approved_at IS NOT NULL))),
    CONSTRAINT apps_average_rating CHECK (((average_rating = (0)::double precision) OR ((average_rating >= (1)::double precision) AND (average_rating <= (5)::double precision)))),
    CONSTRAINT apps_counts CHECK (((total_downloads >= 0) AND (review_count >= 0))),
    CONSTRAINT apps_package_key CHECK (((package_name IS NULL) = (package_key IS NULL))),
    CONSTRAINT apps_rejection_reason CHECK (((status = 'rejected'::text) = (rejection_reason IS NOT NULL))),
    CONSTRAINT apps_status CHECK ((status = ANY (ARRAY['pending'::text, 'approved'::text, 'rejected'::text])))
);
CREATE SEQUENCE public.apps_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.apps_id_seq OWNED BY public.apps.id;
CREATE TABLE public.audit (
    id bigint NOT NULL,
    at text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL COLLATE pg_catalog."C",
    app_id bigint,
    developer_id bigint,
    category_id bigint,
    key_id text COLLATE pg_catalog."C",
    operator text COLLATE pg_catalog."C",
    before text COLLATE pg_catalog."C",
    after text NOT NULL COLLATE pg_catalog."C",
    operator_name text COLLATE pg_catalog."C",
    operator_id text COLLATE pg_catalog."C",
    CONSTRAINT audit_actor CHECK (((operator IS NULL) <> (key_id IS NULL)))
);
CREATE SEQUENCE public.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.audit_id_seq OWNED BY public.audit.id;
CREATE TABLE public.catalogue_version (
    id integer NOT NULL,
    value text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT catalogue_version_id_check CHECK ((id = 1))
);
CREATE TABLE public.categories (
    id bigint NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    listed_apps bigint DEFAULT '0'::bigint NOT NULL,
    changed_at text DEFAULT '2026-11-29T12:50:10.998Z'::text NOT NULL COLLATE pg_catalog."C",
    created_at text DEFAULT '2026-11-29T12:50:10.998Z'::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT categories_listed_apps CHECK ((listed_apps >= 0))
);
CREATE SEQUENCE public.categories_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.categories_id_seq OWNED BY public.categories.id;
CREATE TABLE public.developers (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    created_at text NOT NULL COLLATE pg_catalog."C",
    changed_at text DEFAULT '2026-11-29T12:50:10.998Z'::text NOT NULL COLLATE pg_catalog."C",
    contact text COLLATE pg_catalog."C"
);
CREATE SEQUENCE public.developers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.developers_id_seq OWNED BY public.developers.id;
CREATE TABLE public.idempotency_keys (
    id bigint NOT NULL,
    developer_id bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    body_hash text NOT NULL COLLATE pg_catalog."C",
    app_id bigint,
    created_at text NOT NULL COLLATE pg_catalog."C"
);
CREATE SEQUENCE public.idempotency_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.idempotency_keys_id_seq OWNED BY public.idempotency_keys.id;
CREATE TABLE public.knex_migrations (
    id integer NOT NULL,
    name character varying(255),
    batch integer,
    migration_time timestamp with time zone
);
CREATE SEQUENCE public.knex_migrations_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.knex_migrations_id_seq OWNED BY public.knex_migrations.id;
CREATE TABLE public.knex_migrations_lock (
    index integer NOT NULL,
    is_locked integer
);
CREATE SEQUENCE public.knex_migrations_lock_index_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.knex_migrations_lock_index_seq OWNED BY public.knex_migrations_lock.index;
CREATE TABLE public.operator_sessions (
    sha256 text NOT NULL COLLATE pg_catalog."C",
    operator_id text NOT NULL COLLATE pg_catalog."C",
    last_used_at text NOT NULL COLLATE pg_catalog."C",
    opened_app_id bigint,
    opened_at text COLLATE pg_catalog."C"
);
CREATE TABLE public.operators (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    sha256 text NOT NULL COLLATE pg_catalog."C",
    created_at text NOT NULL COLLATE pg_catalog."C",
    expires_at text NOT NULL COLLATE pg_catalog."C",
    revoked_at text COLLATE pg_catalog."C",
    last_used_at text COLLATE pg_catalog."C"
);
CREATE TABLE public.reviews (
    id bigint NOT NULL,
    app_id bigint NOT NULL,
    rating integer NOT NULL,
    created_at text NOT NULL COLLATE pg_catalog."C",
    reviewer_name text NOT NULL COLLATE pg_catalog."C",
    comment text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT reviews_rating CHECK ((rating = ANY (ARRAY[1, 2, 3, 4, 5])))
);
CREATE SEQUENCE public.reviews_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.reviews_id_seq OWNED BY public.reviews.id;
CREATE TABLE public.slug_numbers (
    slug text NOT NULL COLLATE pg_catalog."C",
    last bigint NOT NULL
);
ALTER TABLE ONLY public.apps ALTER COLUMN id SET DEFAULT nextval('public.apps_id_seq'::regclass);
ALTER TABLE ONLY public.audit ALTER COLUMN id SET DEFAULT nextval('public.audit_id_seq'::regclass);
ALTER TABLE ONLY public.categories ALTER COLUMN id SET DEFAULT nextval('public.categories_id_seq'::regclass);
ALTER TABLE ONLY public.developers ALTER COLUMN id SET DEFAULT nextval('public.developers_id_seq'::regclass);
ALTER TABLE ONLY public.idempotency_keys ALTER COLUMN id SET DEFAULT nextval('public.idempotency_keys_id_seq'::regclass);
ALTER TABLE ONLY public.knex_migrations ALTER COLUMN id SET DEFAULT nextval('public.knex_migrations_id_seq'::regclass);
ALTER TABLE ONLY public.knex_migrations_lock ALTER COLUMN index SET DEFAULT nextval('public.knex_migrations_lock_index_seq'::regclass);
ALTER TABLE ONLY public.reviews ALTER COLUMN id SET DEFAULT nextval('public.reviews_id_seq'::regclass);
INSERT INTO public.api_keys VALUES ('kq8ak7d5jvo7', 1, NULL, '01b0c1b2f18f8919437690b0f7113142f48c4108c7a7711804f18d8ba0bf8e59', '2026-11-29T12:50:11.075Z', '2027-11-29T12:50:11.075Z', NULL, NULL);
INSERT INTO public.app_names VALUES (1099511627777, '''%ada''');
INSERT INTO public.app_names VALUES (1, '''/example'' ''/org'' ''/tideclock'' ''=c5434e685e528339'' ''clock'' ''tide'' ''tideclock''');
INSERT INTO public.app_names VALUES (2, '''=c5434e685e528339'' ''clock'' ''tide'' ''tideclock''');
INSERT INTO public.app_search VALUES (1, 28587302322177, 'tide clock', '''%ada'' ''+tideclock'' ''/1'' ''=65c01531a523c1de'' ''=6ce5a5bd805e478b'' ''=a7c4be1523daa59c'' ''@a'' ''@ada'' ''@and'' ''@at'' ''@clock'' ''@glance'' ''@high'' ''@low'' ''@sea'' ''@the'' ''@tide'' ''@water'' ''^a'' ''^ad'' ''^an'' ''^at'' ''^c'' ''^cl'' ''^e'' ''^ex'' ''^g'' ''^gl'' ''^h'' ''^hi'' ''^l'' ''^lo'' ''^o'' ''^or'' ''^s'' ''^se'' ''^t'' ''^th'' ''^ti'' ''^w'' ''^wa'' ''^~c'' ''^~cl'' ''^~t'' ''^~ti'' ''a'' ''ada'' ''and'' ''at'' ''clock'' ''example'' ''glance'' ''high'' ''low'' ''org'' ''sea'' ''the'' ''tide'' ''tideclock'' ''water'' ''~clock'' ''~tide''', NULL, '                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                ');
INSERT INTO public.apps VALUES (1, 1, 1, 'approved', NULL, '2026-11-29T12:50:11.085Z', NULL, '2026-11-01T12:00:00.000Z', '2026-11-29T12:50:11.085Z', 100, 4, 1, 'tide-clock', 'org.example.tideclock', 'org.example.tideclock', '1.0.0', 'Tide Clock', 'The sea at a glance', NULL, 'High and low water.', 0, 0, 400, 1, 3545454, NULL, '2026-11-29T12:50:11.093Z', 'xsl8e', 'https://tideclock.example.org/', 'https://code.example.org/tide-clock', 'MIT', '2026-11-29T12:50:11.085Z');
INSERT INTO public.apps VALUES (2, 1, 1, 'pending', NULL, NULL, NULL, '2026-11-01T12:00:00.000Z', '2026-11-01T12:00:00.000Z', 100, 0, 0, 'tide-clock-2', NULL, NULL, '1.0.0', 'Tide Clock', 'The sea at a glance', NULL, 'Another.', 0, 0, 0, 0, 0, NULL, '2026-11-29T12:50:11.099Z', 'qx5id', 'https://tideclock.example.org/', 'https://code.example.org/tide-clock', 'MIT', NULL);
INSERT INTO public.audit VALUES (1, '2026-11-29T12:50:11.060Z', 'category add', NULL, NULL, 1, NULL, 'root', NULL, '{"slug":"tools","name":"Tools"}', NULL, NULL);
INSERT INTO public.audit VALUES (2, '2026-11-29T12:50:11.075Z', 'key issue', NULL, 1, NULL, NULL, 'root', NULL, '{"id":"kq8ak7d5jvo7","name":null,"expires_at":"2027-11-29T12:50:11.075Z"}', NULL, NULL);
INSERT INTO public.audit VALUES (3, '2026-11-01T12:00:00.000Z', 'app create', 1, 1, NULL, 'kq8ak7d5jvo7', NULL, NULL, '{"name":"Tide Clock","short_description":"The sea at a glance","description":"High and low water.","version":"1.0.0","package_name":"org.example.tideclock","website_url":"https://tideclock.example.org/","source_code_url":"https://code.example.org/tide-clock","license":"MIT","category_id":1,"status":"pending","rejection_reason":null,"deleted_at":null,"developer_id":1,"approved_at":null,"total_downloads":100,"average_rating":0,"other_rating_count":0}', NULL, NULL);
INSERT INTO public.audit VALUES (4, '2026-11-29T12:50:11.085Z', 'app approve', 1, 1, NULL, NULL, 'root', '{"status":"pending","approved_at":null}', '{"status":"approved","approved_at":"2026-11-29T12:50:11.085Z"}', NULL, NULL);
INSERT INTO public.audit VALUES (5, '2026-11-01T12:00:00.000Z', 'app create', 2, 1, NULL, 'kq8ak7d5jvo7', NULL, NULL, '{"name":"Tide Clock","short_description":"The sea at a glance","description":"Another.","version":"1.0.0","package_name":null,"website_url":"https://tideclock.example.org/","source_code_url":"https://code.example.org/tide-clock","license":"MIT","category_id":1,"status":"pending","rejection_reason":null,"deleted_at":null,"developer_id":1,"approved_at":null,"total_downloads":100,"average_rating":0,"other_rating_count":0}', NULL, NULL);
INSERT INTO public.audit VALUES (6, '2026-11-29T12:50:11.102Z', 'moderator add', NULL, NULL, NULL, NULL, 'root', NULL, '{"id":"vw9et4961nzf","name":"Mo","expires_at":"2027-11-29T12:50:11.102Z"}', NULL, NULL);
INSERT INTO public.catalogue_version VALUES (1, '1c148aa8-bbae-43b2-99da-3992644e03a8');
INSERT INTO public.categories VALUES (1, 'tools', 'Tools', 1, '2026-11-29T12:50:11.060Z', '2026-11-29T12:50:11.060Z');
INSERT INTO public.developers VALUES (1, 'Ada', '2026-11-29T12:50:11.065Z', '2026-11-29T12:50:11.065Z', 'ada@example.org');
INSERT INTO public.idempotency_keys VALUES (1, 1, 'first', '1:aJkFwTEbH1uVIJb9sw-dzcFjYVHkw78svzcLIynZrP4', 2, '2026-11-29T12:50:11.094Z');
INSERT INTO public.knex_migrations VALUES (1, '0001-catalogue.ts', 1, '2026-11-29 12:50:10.99+00');
INSERT INTO public.knex_migrations VALUES (2, '0002-ratings.ts', 1, '2026-11-29 12:50:10.995+00');
INSERT INTO public.knex_migrations VALUES (3, '0003-search.ts', 1, '2026-11-29 12:50:10.996+00');
INSERT INTO public.knex_migrations VALUES (4, '0004-unreviewed-changes.ts', 1, '2026-11-29 12:50:10.997+00');
INSERT INTO public.knex_migrations VALUES (5, '0005-changed-at.ts', 1, '2026-11-29 12:50:11.003+00');
INSERT INTO public.knex_migrations VALUES (6, '0006-refused-and-deleted.ts', 1, '2026-11-29 12:50:11.004+00');
INSERT INTO public.knex_migrations VALUES (7, '0007-search-lists.ts', 1, '2026-11-29 12:50:11.005+00');
INSERT INTO public.knex_migrations VALUES (8, '0008-developer-names.ts', 1, '2026-11-29 12:50:11.009+00');
INSERT INTO public.knex_migrations VALUES (9, '0009-one-developer-name.ts', 1, '2026-11-29 12:50:11.01+00');
INSERT INTO public.knex_migrations VALUES (10, '0010-search.ts', 1, '2026-11-29 12:50:11.01+00');
INSERT INTO public.knex_migrations VALUES (11, '0011-catalogue-version.ts', 1, '2026-11-29 12:50:11.015+00');
INSERT INTO public.knex_migrations VALUES (12, '0012-idempotency-keys.ts', 1, '2026-11-29 12:50:11.019+00');
INSERT INTO public.knex_migrations VALUES (13, '0013-compact-names.ts', 1, '2026-11-29 12:50:11.021+00');
INSERT INTO public.knex_migrations VALUES (14, '0014-audit-without-references.ts', 1, '2026-11-29 12:50:11.023+00');
INSERT INTO public.knex_migrations VALUES (15, '0015-operators-and-revisions.ts', 1, '2026-11-29 12:50:11.026+00');
INSERT INTO public.knex_migrations VALUES (16, '0016-skeletons.ts', 1, '2026-11-29 12:50:11.027+00');
INSERT INTO public.knex_migrations VALUES (17, '0017-search.ts', 1, '2026-11-29 12:50:11.027+00');
INSERT INTO public.knex_migrations VALUES (18, '0018-own-apps.ts', 1, '2026-11-29 12:50:11.028+00');
INSERT INTO public.knex_migrations VALUES (19, '0019-signed-in-operators.ts', 1, '2026-11-29 12:50:11.035+00');
INSERT INTO public.knex_migrations VALUES (20, '0020-popular-names.ts', 1, '2026-11-29 12:50:11.036+00');
INSERT INTO public.knex_migrations VALUES (21, '0021-moderation-search.ts', 1, '2026-11-29 12:50:11.04+00');
INSERT INTO public.knex_migrations VALUES (22, '0022-names-to-compare.ts', 1, '2026-11-29 12:50:11.042+00');
INSERT INTO public.knex_migrations VALUES (23, '0023-addresses-and-decisions.ts', 1, '2026-11-29 12:50:11.043+00');
INSERT INTO public.knex_migrations VALUES (24, '0024-names.ts', 1, '2026-11-29 12:50:11.054+00');
INSERT INTO public.knex_migrations VALUES (25, '0025-developer-contacts.ts', 1, '2026-11-29 12:50:11.055+00');
INSERT INTO public.knex_migrations_lock VALUES (1, 0);
INSERT INTO public.operator_sessions VALUES ('0d10c9a6a2a65f979df2f41c76ee01f77295046c14167675d3f1a0b54db27fe0', 'vw9et4961nzf', '2026-11-29T12:50:11.105Z', 2, '2026-11-29T12:50:11.105Z');
INSERT INTO public.operators VALUES ('vw9et4961nzf', 'Mo', 'c586a3eebe91103b7c503faea7b5eee81fe6bfee92ad99cf53f03189c1abe511', '2026-11-29T12:50:11.102Z', '2027-11-29T12:50:11.102Z', NULL, NULL);
INSERT INTO public.reviews VALUES (1, 1, 4, '2026-11-01T12:00:00.000Z', 'Cy', 'Fine.');
INSERT INTO public.slug_numbers VALUES ('tide-clock', 2);
SELECT pg_catalog.setval('public.apps_id_seq', 2, true);
SELECT pg_catalog.setval('public.audit_id_seq', 6, true);
SELECT pg_catalog.setval('public.categories_id_seq', 1, true);
SELECT pg_catalog.setval('public.developers_id_seq', 1, true);
SELECT pg_catalog.setval('public.idempotency_keys_id_seq', 1, true);
SELECT pg_catalog.setval('public.knex_migrations_id_seq', 25, true);
SELECT pg_catalog.setval('public.knex_migrations_lock_index_seq', 1, true);
SELECT pg_catalog.setval('public.reviews_id_seq', 1, true);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.app_names
    ADD CONSTRAINT app_names_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.app_search
    ADD CONSTRAINT app_search_pkey PRIMARY KEY (app_id);
ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_package_key_unique UNIQUE (package_key);
ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_slug_unique UNIQUE (slug);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.catalogue_version
    ADD CONSTRAINT catalogue_version_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.categories
    ADD CONSTRAINT categories_name_unique UNIQUE (name);
ALTER TABLE ONLY public.categories
    ADD CONSTRAINT categories_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.categories
    ADD CONSTRAINT categories_slug_unique UNIQUE (slug);
ALTER TABLE ONLY public.developers
    ADD CONSTRAINT developers_name_unique UNIQUE (name);
ALTER TABLE ONLY public.developers
    ADD CONSTRAINT developers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_developer_id_key_unique UNIQUE (developer_id, key);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.knex_migrations_lock
    ADD CONSTRAINT knex_migrations_lock_pkey PRIMARY KEY (index);
ALTER TABLE ONLY public.knex_migrations
    ADD CONSTRAINT knex_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.operator_sessions
    ADD CONSTRAINT operator_sessions_pkey PRIMARY KEY (sha256);
ALTER TABLE ONLY public.operators
    ADD CONSTRAINT operators_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.reviews
    ADD CONSTRAINT reviews_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.slug_numbers
    ADD CONSTRAINT slug_numbers_pkey PRIMARY KEY (slug);
CREATE INDEX api_keys_developer_id_index ON public.api_keys USING btree (developer_id);
CREATE INDEX app_names_tokens ON public.app_names USING gin (tokens);
CREATE INDEX app_search_rank ON public.app_search USING btree (rank);
CREATE INDEX app_search_tokens ON public.app_search USING gin (tokens);
CREATE INDEX apps_category_id_index ON public.apps USING btree (category_id);
CREATE INDEX apps_category_latest ON public.apps USING btree (category_id, approved_at, id) WHERE ((status = 'approved'::text) AND (deleted_at IS NULL));
CREATE INDEX apps_category_popular ON public.apps USING btree (category_id, total_downloads, id) WHERE ((status = 'approved'::text) AND (deleted_at IS NULL));
CREATE INDEX apps_category_rating ON public.apps USING btree (category_id, weighted_rating, rating_count, id) WHERE ((status = 'approved'::text) AND (deleted_at IS NULL));
CREATE INDEX apps_changed ON public.apps USING btree (COALESCE(unreviewed_since, created_at), id) WHERE ((status = 'approved'::text) AND (deleted_at IS NULL) AND (unreviewed_since IS NOT NULL));
CREATE INDEX apps_changed_at ON public.apps USING btree (changed_at);
CREATE INDEX apps_deleted ON public.apps USING btree (id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX apps_developer ON public.apps USING btree (developer_id, id, status, deleted_at) WHERE (developer_id IS NOT NULL);
CREATE INDEX apps_developer_name ON public.apps USING btree (developer_id, name);
CREATE INDEX apps_latest ON public.apps USING btree (approved_at, id) WHERE ((status = 'approved'::text) AND (deleted_at IS NULL));
CREATE INDEX apps_own ON public.apps USING btree (developer_id, updated_at, id, status) WHERE ((deleted_at IS NULL) AND (updated_at > ''::text));
CREATE INDEX apps_popular ON public.apps USING btree (total_downloads, id) WHERE ((status = 'approved'::text) AND (deleted_at IS NULL));
CREATE INDEX apps_popular_names ON public.apps USING btree (total_downloads DESC, id, developer_id, name) WHERE ((status = 'approved'::text) AND (deleted_at IS NULL) AND (total_downloads >= 10000));
CREATE INDEX apps_queue ON public.apps USING btree (COALESCE(unreviewed_since, created_at), id, developer_id) WHERE ((status = 'pending'::text) AND (deleted_at IS NULL));
CREATE INDEX apps_rating ON public.apps USING btree (weighted_rating, rating_count, id) WHERE ((status = 'approved'::text) AND (deleted_at IS NULL));
CREATE INDEX apps_rejected ON public.apps USING btree (id) WHERE ((status = 'rejected'::text) AND (deleted_at IS NULL));
CREATE INDEX audit_app_id_index ON public.audit USING btree (app_id);
CREATE INDEX audit_developer_time ON public.audit USING btree (developer_id, at, id);
CREATE INDEX audit_imports ON public.audit USING btree (id) WHERE (action = 'app import'::text);
CREATE INDEX audit_operator_time ON public.audit USING btree (operator_id, at, id, developer_id) WHERE (operator_id IS NOT NULL);
CREATE INDEX audit_rejections ON public.audit USING btree (id) WHERE (action = 'app reject'::text);
CREATE INDEX audit_time ON public.audit USING btree (at, id);
CREATE INDEX developers_changed_at ON public.developers USING btree (changed_at);
CREATE INDEX idempotency_keys_created_at_index ON public.idempotency_keys USING btree (created_at);
CREATE INDEX operator_sessions_last_used_at_index ON public.operator_sessions USING btree (last_used_at);
CREATE INDEX operator_sessions_operator_id_index ON public.operator_sessions USING btree (operator_id);
CREATE INDEX reviews_newest ON public.reviews USING btree (app_id, created_at, id);
CREATE TRIGGER audit_is_append_only BEFORE DELETE OR UPDATE ON public.audit FOR EACH STATEMENT EXECUTE FUNCTION public.audit_refuses();
CREATE TRIGGER audit_is_not_truncated BEFORE TRUNCATE ON public.audit FOR EACH STATEMENT EXECUTE FUNCTION public.audit_refuses();
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_developer_id_foreign FOREIGN KEY (developer_id) REFERENCES public.developers(id);
ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_category_id_foreign FOREIGN KEY (category_id) REFERENCES public.categories(id);
ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_developer_id_foreign FOREIGN KEY (developer_id) REFERENCES public.developers(id);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_app_id_foreign FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_app_id_foreign FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_developer_id_foreign FOREIGN KEY (developer_id) REFERENCES public.developers(id);
ALTER TABLE ONLY public.operator_sessions
    ADD CONSTRAINT operator_sessions_operator_id_foreign FOREIGN KEY (operator_id) REFERENCES public.operators(id);
ALTER TABLE ONLY public.reviews
    ADD CONSTRAINT reviews_app_id_foreign FOREIGN KEY (app_id) REFERENCES public.apps(id);
