#!/usr/bin/env bash
# Installs PostgreSQL's server, for the tests that start one of their own. Where it is there, this ends at once.
. "$(dirname "$0")/lib.sh"
if compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null; then exit 0; fi
# Debian would start a server at its installation; the tests start theirs and need none.
if [ -d /etc ] && [ "$(id -u)" = 0 ] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
fi
debian_install "PostgreSQL" postgresql
