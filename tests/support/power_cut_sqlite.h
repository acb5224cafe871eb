#pragma once

#include <string>

#include <sqlite3.h>

#include "tests/support/power_cut.h"

namespace outrigger::testing {

/// A PowerCut as an SQLite VFS over the default one, registered under a name of its own while it lives.
struct PowerCut::Vfs final {
 public:
  explicit Vfs(PowerCut& disk);
  ~Vfs();
  Vfs(const Vfs&) = delete;
  Vfs& operator=(const Vfs&) = delete;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  sqlite3_vfs* under_;
  std::string name_;
  sqlite3_vfs vfs_{};
};

}  // namespace outrigger::testing
