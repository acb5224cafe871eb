#pragma once

namespace outrigger {

/// How many threads can run at once: the smaller of the CPU affinity and the cgroup's CPU quota (rounded up), at least 1.
/// Reads cgroup v2 `cpu.max` and v1 `cpu.cfs_quota_us`.
[[nodiscard]] unsigned available_cpus();

}  // namespace outrigger
