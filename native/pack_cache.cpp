#include "native/pack_cache.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <vector>

#include "engine/base/hash.h"
#include "native/output.h"
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
  for (const fs::directory_entry& entry : fs::directory_iterator(copy.parent_path(), error)) {
    const std::string name = as_name(entry.path().filename());
    if (!name.starts_with(begin) || !name.ends_with(".tmp")) continue;
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(error);
    if (!error && age > std::chrono::hours(1)) fs::remove(entry.path(), error);
  }
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
  std::vector<uint8_t> header(static_cast<size_t>(loader.header_bytes()));
  {
    const File file(open_file(path_));
    if (!file || !read_at(file.get(), 0, header.data(), header.size())) return {};
  }
  source_.header_hash = hash64(header.data(), header.size());
  known_ = true;
  const File file(open_file(copy_));
  if (!file) return {};
  std::error_code error;
  const uint64_t bytes = fs::file_size(as_path(copy_), error);
  if (error) return {};
  const Status status = loader.restore(source_, bytes, [&](uint64_t offset, std::span<uint8_t> out) {
    return read_at(file.get(), offset, out.data(), out.size());
  });
  *restored = status.ok();
  return status;
}

void PackCache::write(const Model& model) const {
  CopySource now = source_;
  if (!known_ || !describe(as_path(path_), &now)) return;
  if (now.file_bytes != source_.file_bytes || now.modified != source_.modified) return;  // it has changed meanwhile
  const fs::path copy = as_path(copy_);
  std::error_code error;
  fs::create_directories(copy.parent_path(), error);
  remove_leftovers(copy);
  std::random_device random;
  const uint64_t number = static_cast<uint64_t>(random()) << 32 | random();
  const std::string temporary = copy_ + "." + hex64(number) + ".tmp";

  File file(create_file(temporary));
  bool written = file != nullptr;
  if (written) {
    written = write_copy(model, source_, [&](std::span<const uint8_t> bytes) {
                return std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
              }).ok();
    written = written && flush_to_disk(file.get());
  }
  std::string reason = std::strerror(errno);
  file.reset();
  if (written) {
    fs::rename(as_path(temporary), copy, error);
    if (!error) return;
    reason = error.message();
  }
  fs::remove(as_path(temporary), error);
  print_warning("--pack-cache: no packed copy was written to " + as_name(copy.parent_path()) + ": " + reason);
}

}  // namespace bitwin::native
