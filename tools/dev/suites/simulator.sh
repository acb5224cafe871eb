# shellcheck shell=bash
# The saga engine's real lanes in a simulated world: 10,000 seeds, and four bugs put in on purpose that they must find.
# A failure names its seed; OUTRIGGER_SIMULATION_SEED=N repeats it, OUTRIGGER_SIMULATION_SEEDS=N runs more.
. "$dev_tools/commands/build.sh"
run_suite() {
  dev_build dev simulator && in_root build env OUTRIGGER_SIMULATION_SEED="${OUTRIGGER_SIMULATION_SEED:-}" \
    OUTRIGGER_SIMULATION_SEEDS="${OUTRIGGER_SIMULATION_SEEDS:-}" bash tools/dev/ctest_inside.sh dev simulator "${test_regex:-}"
}
