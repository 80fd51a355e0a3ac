#include "native/pack_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <random>
#include <system_error>
#include <vector>

#include "engine/base/hash.h"
#include "native/output.h"
#include "native/progress.h"
#include "native/system.h"

namespace bitwin::native {

namespace fs = std::filesystem;

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

fs::path as_path(const std::string& name) { return fs::path(std::u8string(name.begin(), name.end())); }

std::string as_name(const fs::path& path) {
  const std::u8string text = path.u8string();
  return std::string(text.begin(), text.end());
}

// Size and time of a regular file; false when it is none.
bool describe(const fs::path& path, CopySource* source) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  source->file_bytes = fs::file_size(path, error);
  if (error) return false;
  source->modified = fs::last_write_time(path, error).time_since_epoch().count();
  return !error;
}

// What programs that were ended while they wrote have left behind.
void remove_leftovers(const fs::path& copy) {
  const std::string begin = as_name(copy.filename()) + ".";
  std::error_code error;
  for (fs::directory_iterator at(copy.parent_path(), error), end; !error && at != end; at.increment(error)) {
    const std::string name = as_name(at->path().filename());
    if (!name.starts_with(begin) || !name.ends_with(".tmp")) continue;
    std::error_code unknown;
    const auto age = fs::file_time_type::clock::now() - at->last_write_time(unknown);
    if (!unknown && age > std::chrono::hours(1)) fs::remove(at->path(), unknown);
  }
}

// Of the header, and of samples of the tensors: a tool may change a file in place and set its time back.
constexpr uint64_t kSamples = 64;
constexpr uint64_t kSampleBytes = 4096;

bool hash_content(std::FILE* file, uint64_t header_bytes, uint64_t file_bytes, uint64_t* hash) {
  if (header_bytes > file_bytes) return false;
  std::vector<uint8_t> bytes(static_cast<size_t>(header_bytes));
  if (!read_at(file, 0, bytes.data(), bytes.size())) return false;
  *hash = hash64(bytes.data(), bytes.size());
  bytes.resize(kSampleBytes);
  const uint64_t rest = file_bytes - header_bytes;
  const uint64_t size = std::min(rest, kSampleBytes);
  for (uint64_t i = 0; i < kSamples; ++i) {
    const uint64_t at = header_bytes + (rest - size) * i / (kSamples - 1);
    if (!read_at(file, at, bytes.data(), static_cast<size_t>(size))) return false;
    *hash = hash64(bytes.data(), static_cast<size_t>(size), *hash);
  }
  return true;
}

// Appends a copy of the model to `file`.
bool write_whole(const Model& model, const CopySource& source, std::FILE* file, bool quiet) {
  Progress progress("Writing a packed copy", Progress::Unit::bytes, model.info().packed_bytes, quiet);
  uint64_t written = 0;
  const Status status = write_copy(model, source, [&](std::span<const uint8_t> bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) return false;
    progress.update(written += bytes.size());
    return true;
  });
  return status.ok() && flush_to_disk(file);
}

}  // namespace

std::string pack_cache_folder() {
  std::string folder = environment_variable("BITWIN_CACHE_DIR");
  if (!folder.empty()) return folder;
  folder = user_cache_folder();
  return folder.empty() ? "" : folder + "/bitwin/packed";
}

PackCache::PackCache(const std::string& path, bool enabled) : path_(path) {
  if (!enabled || path == "-" || !describe(as_path(path), &source_)) return;
  const std::string folder = pack_cache_folder();
  if (folder.empty()) {
    print_warning("--pack-cache: there is no folder for it; BITWIN_CACHE_DIR can name one");
    return;
  }
  std::error_code error;
  const fs::path whole = fs::canonical(as_path(path), error);
  if (error) return;
  const std::string name = as_name(whole);
  copy_ = folder + "/" + as_name(whole.stem()) + "-" + hex64(hash64(name.data(), name.size())) + ".bwpacked";
}

Status PackCache::restore(Loader& loader, bool* restored) {
  *restored = false;
  {
    const File file(open_file(path_));
    if (!file || !hash_content(file.get(), loader.header_bytes(), source_.file_bytes, &source_.content_hash)) return {};
  }
  known_ = true;
  CopySource copy;
  if (!describe(as_path(copy_), &copy)) return {};  // opening a pipe would wait for its writer
  const File file(open_file(copy_));
  if (!file) return {};
  const Status status = loader.restore(source_, copy.file_bytes, [&](uint64_t offset, std::span<uint8_t> out) {
    return read_at(file.get(), offset, out.data(), out.size());
  });
  *restored = status.ok();
  if (*restored) remove_leftovers(as_path(copy_));
  return status;
}

void PackCache::write(const Model& model, bool quiet) const {
  try {
    const std::string reason = try_to_write(model, quiet);
    if (!reason.empty()) print_warning("--pack-cache: no packed copy was written to " + as_name(as_path(copy_).parent_path()) + ": " + reason);
  } catch (const std::exception& failure) {
    print_warning("--pack-cache: no packed copy was written to " + as_name(as_path(copy_).parent_path()) + ": " + failure.what());
  }
}

std::string PackCache::try_to_write(const Model& model, bool quiet) const {
  CopySource now = source_;
  if (!known_ || !describe(as_path(path_), &now)) return "";
  if (now.file_bytes != source_.file_bytes || now.modified != source_.modified) return "";  // it has changed meanwhile
  const fs::path copy = as_path(copy_);
  std::error_code error;
  if (fs::create_directories(copy.parent_path(), error))
    fs::permissions(copy.parent_path(), fs::perms::owner_all, error);
  remove_leftovers(copy);
  std::random_device random;
  const uint64_t number = static_cast<uint64_t>(random()) << 32 | random();
  const std::string temporary = copy_ + "." + hex64(number) + ".tmp";

  File file(create_file(temporary));
  if (!file) return std::strerror(errno);
  std::string reason = write_whole(model, source_, file.get(), quiet) ? "" : std::strerror(errno);
  file.reset();
  if (reason.empty()) {
    fs::rename(as_path(temporary), copy, error);
    if (!error) return "";
    reason = error.message();
  }
  fs::remove(as_path(temporary), error);
  return reason;
}

}  // namespace bitwin::native
