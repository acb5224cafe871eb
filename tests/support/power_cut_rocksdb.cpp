#include <filesystem>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "tests/support/power_cut.h"

namespace outrigger::testing {
namespace {

using rocksdb::DirFsyncOptions;
using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus no_power() { return IOStatus::IOError("the power is gone"); }

class File final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  File(std::unique_ptr<FSWritableFile> file, std::string path, PowerCut& disk)
      : FSWritableFileOwnerWrapper(std::move(file)), path_(std::move(path)), disk_(disk) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return change(target()->GetFileSize(options, debug), data.size(), [&] { return target()->Append(data, options, debug); });
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&, IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus PositionedAppend(const Slice& data, std::uint64_t offset, const IOOptions& options, IODebugContext* debug) override {
    return change(offset, data.size(), [&] { return target()->PositionedAppend(data, offset, options, debug); });
  }
  IOStatus PositionedAppend(const Slice& data, std::uint64_t offset, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                            IODebugContext* debug) override {
    return PositionedAppend(data, offset, options, debug);
  }
  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    return change(size, 0, [&] { return target()->Truncate(size, options, debug); });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return sync([&] { return target()->Sync(options, debug); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return sync([&] { return target()->Fsync(options, debug); });
  }
  IOStatus RangeSync(std::uint64_t, std::uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }  // promises nothing

 private:
  template <class Operation>
  IOStatus change(std::uint64_t offset, std::uint64_t bytes, Operation operation) {
    IOStatus status;
    const bool done = disk_.operate([&] {
      disk_.will_change(path_, offset, bytes);
      status = operation();
    });
    return done ? status : no_power();
  }
  template <class Operation>
  IOStatus sync(Operation operation) {
    IOStatus status;
    const bool done = disk_.operate([&] {
      status = operation();
      disk_.synced(path_);
    });
    return done ? status : no_power();
  }

  std::string path_;
  PowerCut& disk_;
};

class Folder final : public rocksdb::FSDirectoryWrapper {
 public:
  Folder(std::unique_ptr<FSDirectory> folder, std::string path, PowerCut& disk)
      : FSDirectoryWrapper(std::move(folder)), path_(std::move(path)), disk_(disk) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return sync(); }
  IOStatus FsyncWithDirOptions(const IOOptions&, IODebugContext*, const DirFsyncOptions&) override { return sync(); }

 private:
  IOStatus sync() {
    return disk_.operate([&] { disk_.folder_synced(path_); }) ? IOStatus::OK() : no_power();
  }

  std::string path_;
  PowerCut& disk_;
};

class Disk final : public rocksdb::FileSystemWrapper {
 public:
  explicit Disk(PowerCut& disk) : FileSystemWrapper(rocksdb::FileSystem::Default()), disk_(disk) {}
  [[nodiscard]] const char* Name() const override { return "PowerCut"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& how, std::unique_ptr<FSWritableFile>* result, IODebugContext* debug) override {
    return make(path, result, [&] { return target()->NewWritableFile(path, how, result, debug); });
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& how, std::unique_ptr<FSWritableFile>* result,
                              IODebugContext* debug) override {
    return make(path, result, [&] { return target()->ReopenWritableFile(path, how, result, debug); });
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& how, std::unique_ptr<FSDirectory>* result, IODebugContext* debug) override {
    auto status = target()->NewDirectory(path, how, result, debug);
    if (status.ok()) {
      *result = std::make_unique<Folder>(std::move(*result), std::filesystem::path(path + "/x").parent_path().lexically_normal().string(), disk_);
    }
    return status;
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions& how, IODebugContext* debug) override {
    IOStatus status;
    const bool done = disk_.operate([&] {
      status = target()->DeleteFile(path, how, debug);
      disk_.deleted(path);
    });
    return done ? status : no_power();
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& how, IODebugContext* debug) override {
    IOStatus status;
    const bool done = disk_.operate([&] {
      status = target()->RenameFile(from, to, how, debug);
      disk_.renamed(from, to);
    });
    return done ? status : no_power();
  }

 private:
  template <class Operation>
  IOStatus make(const std::string& path, std::unique_ptr<FSWritableFile>* result, Operation operation) {
    IOStatus status;
    const bool done = disk_.operate([&] {
      const bool is_new = !std::filesystem::exists(path);
      if (!is_new) {
        disk_.will_change(path, 0, 0);
      }
      status = operation();
      if (is_new) {
        disk_.made(path);
      }
    });
    if (!done) {
      return no_power();
    }
    if (status.ok()) {
      *result = std::make_unique<File>(std::move(*result), path, disk_);
    }
    return status;
  }

  PowerCut& disk_;
};

}  // namespace

std::unique_ptr<rocksdb::Env> make_power_cut_env(PowerCut& disk) { return rocksdb::NewCompositeEnv(std::make_shared<Disk>(disk)); }

}  // namespace outrigger::testing
