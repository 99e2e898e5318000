#include "signpost/common/rocks.h"

#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksdb/write_batch.h"

namespace signpost {
namespace {

rocksdb::Slice ToSlice(absl::string_view text) { return {text.data(), text.size()}; }

absl::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

absl::Status ToStatus(const rocksdb::Status& status, absl::string_view dir) {
  if (status.ok()) return absl::OkStatus();
  const std::string text = status.ToString();
  const std::string message = absl::StrCat(dir, ": ", text);
  if (status.IsNotFound()) return absl::NotFoundError(message);
  if (status.IsCorruption()) return absl::DataLossError(message);
  if (status.IsInvalidArgument()) {
    // What RocksDB says when its CURRENT file is missing or names nothing.
    return text.find("does not exist") != std::string::npos ? absl::NotFoundError(message)
                                                            : absl::DataLossError(message);
  }
  if (status.IsIOError()) {
    if (text.find("lock file") != std::string::npos ||
        text.find("lock hold") != std::string::npos) {
      return absl::FailedPreconditionError(message);
    }
    if (text.find("Permission denied") != std::string::npos ||
        text.find("Read-only file system") != std::string::npos ||
        text.find("Not a directory") != std::string::npos) {
      return absl::PermissionDeniedError(message);
    }
  }
  return absl::UnavailableError(message);
}

// RocksDB may throw (std::bad_alloc, its own checks of damaged files); nothing may leave this
// folder.
template <typename Fn>
absl::Status Guarded(absl::string_view dir, Fn&& fn) {
  try {
    return ToStatus(fn(), dir);
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat(dir, ": ", error.what()));
  }
}

rocksdb::Options MakeOptions(const RocksOptions& options) {
  const bool store = options.tuning == RocksOptions::Tuning::kStore;
  rocksdb::Options result;
  result.create_if_missing = true;
  result.write_buffer_size = store ? 4 << 20 : 1 << 20;
  result.max_write_buffer_number = 2;
  result.max_total_wal_size = store ? 16 << 20 : 4 << 20;
  if (!store) {
    result.arena_block_size = 16 << 10;
    result.max_manifest_file_size = 64 << 10;
  }
  result.max_file_opening_threads = 1;
  result.max_open_files = store ? 64 : 16;
  result.max_background_jobs = 1;
  result.target_file_size_base = 8 << 20;
  result.max_bytes_for_level_base = 32 << 20;
  result.compression = rocksdb::kNoCompression;
  // Preallocated logs would cost each process tens of MB of disk.
  result.allow_fallocate = false;
  result.stats_dump_period_sec = 0;
  result.stats_persist_period_sec = 0;
  result.keep_log_file_num = 1;
  result.info_log_level = rocksdb::ERROR_LEVEL;
  result.avoid_flush_during_shutdown = false;

  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(store ? 8 << 20 : 512 << 10, /*num_shard_bits=*/0);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.cache_index_and_filter_blocks = false;
  result.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return result;
}

}  // namespace

struct Rocks::State {
  std::string dir;
  std::unique_ptr<rocksdb::DB> db;

  absl::Status CheckOpen() const {
    if (db != nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(dir, ": the database is closed"));
  }
};

Rocks::Rocks(std::unique_ptr<State> state) : state_(std::move(state)) {}

Rocks::~Rocks() { Close().IgnoreError(); }

absl::StatusOr<std::unique_ptr<Rocks>> Rocks::Open(const std::string& dir,
                                                   const RocksOptions& options) {
  std::error_code ignored;
  if (options.read_only && !std::filesystem::exists(dir + "/CURRENT", ignored)) {
    return absl::NotFoundError(absl::StrCat(dir, ": no database there"));
  }
  auto state = std::make_unique<State>();
  state->dir = dir;
  const absl::Status status = Guarded(dir, [&] {
    const rocksdb::Options made = MakeOptions(options);
    rocksdb::DB* db = nullptr;
    const rocksdb::Status opened = options.read_only ? rocksdb::DB::OpenForReadOnly(made, dir, &db)
                                                     : rocksdb::DB::Open(made, dir, &db);
    state->db.reset(db);
    return opened;
  });
  if (!status.ok()) return status;
  return std::unique_ptr<Rocks>(new Rocks(std::move(state)));
}

absl::StatusOr<std::string> Rocks::Get(absl::string_view key) const {
  if (absl::Status open = state_->CheckOpen(); !open.ok()) return open;
  std::string value;
  const absl::Status status = Guarded(
      state_->dir, [&] { return state_->db->Get(rocksdb::ReadOptions(), ToSlice(key), &value); });
  if (absl::IsNotFound(status)) {
    return absl::NotFoundError(absl::StrCat(state_->dir, ": no key ", key));
  }
  if (!status.ok()) return status;
  return value;
}

absl::Status Rocks::Write(const std::vector<RocksWrite>& writes) {
  if (absl::Status open = state_->CheckOpen(); !open.ok()) return open;
  return Guarded(state_->dir, [&]() -> rocksdb::Status {
    rocksdb::WriteBatch batch;
    for (const RocksWrite& write : writes) {
      const rocksdb::Status added =
          write.value.has_value() ? batch.Put(write.key, *write.value) : batch.Delete(write.key);
      if (!added.ok()) return added;
    }
    return state_->db->Write(rocksdb::WriteOptions(), &batch);
  });
}

absl::Status Rocks::Scan(absl::string_view prefix, Visitor visit) const {
  if (absl::Status open = state_->CheckOpen(); !open.ok()) return open;
  return Guarded(state_->dir, [&] {
    const std::unique_ptr<rocksdb::Iterator> it(state_->db->NewIterator(rocksdb::ReadOptions()));
    std::string seek;
    it->Seek(ToSlice(prefix));
    while (it->Valid() && it->key().starts_with(ToSlice(prefix))) {
      seek.clear();
      if (!visit(ToView(it->key()), ToView(it->value()), &seek)) break;
      if (seek.empty()) {
        it->Next();
      } else {
        it->Seek(seek);
      }
    }
    return it->status();
  });
}

absl::Status Rocks::Close() {
  if (state_->db == nullptr) return absl::OkStatus();
  const std::unique_ptr<rocksdb::DB> db = std::move(state_->db);
  return Guarded(state_->dir, [&] { return db->Close(); });
}

}  // namespace signpost
