"""Every fault that ``make mutants`` plants."""

from tests.security.faults.in_plans import IN_PLANS
from tests.security.faults.in_runs import IN_RUNS
from tests.security.faults.in_servers import IN_SERVERS
from tests.security.faults.in_silos import IN_SILOS
from tests.security.faults.in_sums import IN_SUMS

MUTANTS = (*IN_PLANS, *IN_SILOS, *IN_SERVERS, *IN_SUMS, *IN_RUNS)
