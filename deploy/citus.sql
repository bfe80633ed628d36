-- Distributes a migrated database over the nodes of a Citus cluster. Run it on the coordinator, in one transaction:
--   psql --single-transaction --set ON_ERROR_STOP=1 --file deploy/citus.sql "$DATABASE_URL"
-- Run it again after each `./apps-service migrate` that changed something.

-- Every id comes from the coordinator's sequence. A worker's own sequence would begin at 2^48 and pass 2^53.
create or replace function next_id(sequence text) returns bigint language plpgsql as $$
declare
  answer record;
begin
  if citus_is_coordinator() then
    return nextval(sequence);
  end if;
  select * into answer from run_command_on_coordinator(format('select nextval(%L)', sequence));
  if not answer.success then
    -- connection_failure, for which the service answers 503.
    raise exception 'no id from the coordinator: %', answer.result using errcode = '08006';
  end if;
  return answer.result;
end $$;

do $$
declare
  -- Reads need these, so each node has a copy. A read uses the node's own copy and needs no other node; its transactions see
  -- one moment, which Citus does not offer across shards. A write changes all copies or none.
  copied text[] := '{developers, api_keys, categories, apps, reviews, app_search, app_names, catalogue_version, knex_migrations}';
  -- Only writes, commands and the moderation page need these. They stay on the coordinator, and workers reach them there.
  -- Triggers are supported on such tables only, and `audit` has some.
  kept text[] := '{slug_numbers, audit, idempotency_keys, operators, operator_sessions}';
  name text;
begin
  foreach name in array copied loop
    if not exists (select from citus_tables where table_name = name::regclass and citus_table_type = 'reference') then
      perform create_reference_table(name);
    end if;
  end loop;
  foreach name in array kept loop
    -- Citus has placed some of them itself, because of their foreign keys.
    if not exists (select from pg_dist_partition where logicalrelid = name::regclass and not autoconverted) then
      -- Citus places tables with foreign keys to each other only together.
      perform citus_add_local_table_to_metadata(name, cascade_via_foreign_keys => true);
    end if;
  end loop;
  for name in
    select table_name from information_schema.columns
    where table_schema = current_schema() and table_name = any (copied || kept)
      and column_default = format('nextval(''%s_id_seq''::regclass)', table_name) and table_name <> 'knex_migrations'
  loop
    execute format('alter table %1$s alter column id set default next_id(''%1$s_id_seq'')', name);
  end loop;
  -- The service's setting for each transaction does not reach other nodes. In KiB; searches read the whole list.
  alter index app_search_tokens set (gin_pending_list_limit = 64);
end $$;
