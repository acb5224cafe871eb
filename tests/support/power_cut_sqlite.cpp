#include "tests/support/power_cut_sqlite.h"

#include <filesystem>
#include <format>
#include <new>

namespace outrigger::testing {
namespace {

/// SQLite makes room for one of these in front of the file of the VFS below.
struct File {
  sqlite3_file base;
  PowerCut* disk;
  std::string path;
  sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File& file_of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
sqlite3_file* below(sqlite3_file* file) { return file_of(file).below(); }

int close(sqlite3_file* file) {
  auto& mine = file_of(file);
  const int result = mine.below()->pMethods == nullptr ? SQLITE_OK : mine.below()->pMethods->xClose(mine.below());
  mine.path.~basic_string();
  return result;
}
int read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 offset) { return below(file)->pMethods->xRead(below(file), to, bytes, offset); }
int write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  auto& mine = file_of(file);
  int result = SQLITE_OK;
  const bool done = mine.disk->operate([&] {
    mine.disk->will_change(mine.path, static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(bytes));
    result = mine.below()->pMethods->xWrite(mine.below(), from, bytes, offset);
  });
  return done ? result : SQLITE_IOERR_WRITE;
}
int truncate(sqlite3_file* file, sqlite3_int64 size) {
  auto& mine = file_of(file);
  int result = SQLITE_OK;
  const bool done = mine.disk->operate([&] {
    mine.disk->will_change(mine.path, static_cast<std::uint64_t>(size), 0);
    result = mine.below()->pMethods->xTruncate(mine.below(), size);
  });
  return done ? result : SQLITE_IOERR_TRUNCATE;
}
// The default VFS synchronises the folder of a new file with the file's first sync, so a sync makes its name last too.
int sync(sqlite3_file* file, int flags) {
  auto& mine = file_of(file);
  int result = SQLITE_OK;
  const bool done = mine.disk->operate([&] {
    result = mine.below()->pMethods->xSync(mine.below(), flags);
    mine.disk->synced(mine.path);
    mine.disk->named(mine.path);
  });
  return done ? result : SQLITE_IOERR_FSYNC;
}
int file_size(sqlite3_file* file, sqlite3_int64* size) { return below(file)->pMethods->xFileSize(below(file), size); }
int lock(sqlite3_file* file, int level) { return below(file)->pMethods->xLock(below(file), level); }
int unlock(sqlite3_file* file, int level) { return below(file)->pMethods->xUnlock(below(file), level); }
int check_reserved_lock(sqlite3_file* file, int* result) { return below(file)->pMethods->xCheckReservedLock(below(file), result); }
int file_control(sqlite3_file* file, int operation, void* argument) { return below(file)->pMethods->xFileControl(below(file), operation, argument); }
int sector_size(sqlite3_file* file) { return below(file)->pMethods->xSectorSize(below(file)); }
// None of what a kind disk promises: no safe append, no power-safe overwrite.
int characteristics(sqlite3_file*) { return 0; }
int shm_map(sqlite3_file* file, int page, int bytes, int extend, void volatile** memory) {
  return below(file)->pMethods->xShmMap(below(file), page, bytes, extend, memory);
}
int shm_lock(sqlite3_file* file, int offset, int count, int flags) { return below(file)->pMethods->xShmLock(below(file), offset, count, flags); }
void shm_barrier(sqlite3_file* file) { below(file)->pMethods->xShmBarrier(below(file)); }
int shm_unmap(sqlite3_file* file, int remove) { return below(file)->pMethods->xShmUnmap(below(file), remove); }

// Version 2: no memory-mapped reads or writes, which could not be counted.
constexpr sqlite3_io_methods kMethods{
    2,           close,           read,    write,    truncate,    sync,      file_size, lock,   unlock, check_reserved_lock, file_control,
    sector_size, characteristics, shm_map, shm_lock, shm_barrier, shm_unmap, nullptr,   nullptr};

PowerCut& disk_of(sqlite3_vfs* vfs) { return *static_cast<PowerCut*>(vfs->pAppData); }

int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  auto& disk = disk_of(vfs);
  auto* under = sqlite3_vfs_find(nullptr);
  auto* mine = new (file) File{.base = {}, .disk = &disk, .path = name == nullptr ? "" : name};
  mine->below()->pMethods = nullptr;
  int result = SQLITE_OK;
  const bool done = disk.operate([&] {
    const bool is_new = name != nullptr && !std::filesystem::exists(name);
    result = under->xOpen(under, name, mine->below(), flags, out_flags);
    if (is_new && result == SQLITE_OK) {
      disk.made(mine->path);
    }
  });
  if (done && result == SQLITE_OK) {
    mine->base.pMethods = &kMethods;
    return SQLITE_OK;
  }
  mine->path.~basic_string();
  mine->base.pMethods = nullptr;
  return done ? result : SQLITE_CANTOPEN;
}

int remove(sqlite3_vfs* vfs, const char* name, int sync_folder) {
  auto& disk = disk_of(vfs);
  auto* under = sqlite3_vfs_find(nullptr);
  int result = SQLITE_OK;
  const bool done = disk.operate([&] {
    result = under->xDelete(under, name, sync_folder);
    disk.deleted(name);
  });
  return done ? result : SQLITE_IOERR_DELETE;
}

}  // namespace

PowerCut::Vfs::Vfs(PowerCut& disk)
    : under_(sqlite3_vfs_find(nullptr)), name_(std::format("power-cut-{}", static_cast<const void*>(&disk))), vfs_(*under_) {
  vfs_.iVersion = 1;
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + under_->szOsFile;
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = &disk;
  vfs_.xOpen = open;
  vfs_.xDelete = remove;
  sqlite3_vfs_register(&vfs_, 0);
}

PowerCut::Vfs::~Vfs() { sqlite3_vfs_unregister(&vfs_); }

}  // namespace outrigger::testing
