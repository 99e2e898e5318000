#include "signpost/registry/store/store_metadata_report.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signpost/common/log.h"
#include "signpost/common/service_instance.h"
#include "signpost/common/status.h"

namespace signpost {
namespace {

// Lost races before giving up; each means that somebody else just wrote this very document.
constexpr int kMaxRaces = 5;

std::string Where(const std::string& path, absl::string_view app, absl::string_view revision) {
  return absl::StrCat(path, " (application ", app, ", revision ", revision, ")");
}

absl::Status ValidateNames(absl::string_view app, absl::string_view revision) {
  const absl::Status status = ValidateAppName(app);
  if (!status.ok()) return Annotate(status, "metadata document");
  if (revision.empty() || revision.find('/') != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata of application ", app, ": revision '", revision, "'"));
  }
  return absl::OkStatus();
}

// Writes one document at the paths from `next` on, one after another.
struct Publication : std::enable_shared_from_this<Publication> {
  std::weak_ptr<Store> store;
  std::string revision;
  std::string text;
  std::string where;
  std::vector<std::string> paths;
  size_t next = 0;
  int races = 0;
  std::optional<Deadline> deadline;
  DoneCallback done;

  void Finish(const absl::Status& status) {
    std::move(done)(next < paths.size() ? Annotate(status, paths[next] + where) : status);
  }

  void Step() {
    if (next == paths.size()) return Finish(absl::OkStatus());
    auto target = store.lock();
    if (target == nullptr) return Finish(absl::CancelledError("closed"));
    target->Get(
        paths[next], deadline->Left(),
        [self = shared_from_this()](absl::StatusOr<StoreValue> v) { self->OnRead(std::move(v)); });
  }

  void OnRead(absl::StatusOr<StoreValue> value) {
    if (!value.ok() && !absl::IsNotFound(value.status())) return Finish(value.status());
    if (value.ok() && IsOfRevision(value->value)) {
      ++next;
      return Step();
    }
    // Absent, or nothing that anybody could use.
    auto target = store.lock();
    if (target == nullptr) return Finish(absl::CancelledError("closed"));
    target->CompareAndSet(paths[next], text, value.ok() ? value->version : Store::kAbsent,
                          deadline->Left(),
                          [self = shared_from_this()](absl::StatusOr<int64_t> version) {
                            self->OnWritten(version.status());
                          });
  }

  bool IsOfRevision(const std::string& document) const {
    const absl::StatusOr<MetadataInfo> info = MetadataInfoFromJson(document);
    return info.ok() && !info->services.empty() &&
           (info->revision.empty() || info->revision == revision);
  }

  void OnWritten(const absl::Status& status) {
    const bool race =
        absl::IsAlreadyExists(status) || absl::IsAborted(status) || absl::IsNotFound(status);
    if (race && ++races < kMaxRaces) return Step();
    if (!status.ok()) return Finish(status);
    ++next;
    Step();
  }
};

// Looks at the paths in turn; the first document with services counts.
struct Reading : std::enable_shared_from_this<Reading> {
  std::weak_ptr<Store> store;
  std::string app;
  std::string revision;
  std::vector<std::string> paths;
  size_t next = 0;
  std::optional<Deadline> deadline;
  MetadataReport::GetCallback done;
  // The best that was seen so far.
  absl::StatusOr<MetadataInfo> answer = absl::NotFoundError("");

  void Step() {
    if (next == paths.size()) {
      if (!answer.ok() && absl::IsNotFound(answer.status())) {
        answer = absl::NotFoundError(absl::StrCat(
            "no metadata document at ", Where(absl::StrJoin(paths, " and "), app, revision)));
      }
      return std::move(done)(std::move(answer));
    }
    auto target = store.lock();
    if (target == nullptr) return std::move(done)(absl::CancelledError("closed"));
    target->Get(
        paths[next], deadline->Left(),
        [self = shared_from_this()](absl::StatusOr<StoreValue> v) { self->OnRead(std::move(v)); });
  }

  void OnRead(absl::StatusOr<StoreValue> value) {
    const std::string where = Where(paths[next++], app, revision);
    absl::StatusOr<MetadataInfo> info = absl::NotFoundError("");
    if (!value.ok()) {
      info = value.status();
    } else if (!value->value.empty()) {
      std::vector<std::string> warnings;
      info = MetadataInfoFromJson(value->value, &warnings);
      if (info.ok() && info->services.empty() && !warnings.empty()) {
        // It will be asked for again and again: a fault of its own rather than many log lines.
        info = absl::InvalidArgumentError(
            absl::StrCat("no service that can be used: ", absl::StrJoin(warnings, "; ")));
        warnings.clear();
      }
      for (const std::string& warning : warnings) {
        Log(LogLevel::kWarning, absl::StrCat(where, ": ", warning));
      }
    }
    if (info.ok() && !info->services.empty()) return std::move(done)(std::move(info));
    // An empty document says more than an error, an error more than nothing.
    if (info.ok()) {
      answer = std::move(info);
    } else if (!absl::IsNotFound(info.status()) && !answer.ok() &&
               absl::IsNotFound(answer.status())) {
      answer = Annotate(info.status(), where);
    }
    Step();
  }
};

}  // namespace

void StoreMetadataReport::Publish(const MetadataInfo& info, const CallOptions& options,
                                  DoneCallback done) {
  auto publication = std::make_shared<Publication>();
  publication->done = std::move(done);
  publication->store = store_;
  publication->deadline.emplace(clock_, options);
  const absl::Status names = ValidateNames(info.app, info.revision);
  if (!names.ok()) return publication->Finish(names);
  publication->revision = info.revision;
  publication->text = ToJson(info);
  publication->where = absl::StrCat(" (application ", info.app, ", revision ", info.revision, ")");
  publication->paths = PathsOf(info.app, info.revision);
  publication->Step();
}

std::vector<std::string> StoreMetadataReport::PathsOf(const std::string& app,
                                                      const std::string& revision) const {
  std::vector<std::string> paths;
  for (const std::string& root : layout_.MetadataRoots()) {
    paths.push_back(absl::StrCat(root, "/", app, "/", revision));
  }
  return paths;
}

void StoreMetadataReport::Get(const std::string& app, const std::string& revision,
                              const CallOptions& options, GetCallback done) {
  const absl::Status names = ValidateNames(app, revision);
  if (!names.ok()) return std::move(done)(names);
  auto reading = std::make_shared<Reading>();
  reading->store = store_;
  reading->app = app;
  reading->revision = revision;
  reading->paths = {absl::StrCat(layout_.metadata_java, "/", app, "/", revision),
                    absl::StrCat(layout_.metadata_go, "/", app, "/", revision)};
  reading->deadline.emplace(clock_, options);
  reading->done = std::move(done);
  reading->Step();
}

}  // namespace signpost
