#include "runtime/intercept/engine.hpp"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace thalweg::runtime {
namespace {

/// The most scratch memory that an executor keeps between calls.
constexpr std::int64_t most_kept = std::int64_t{64} << 20;

} // namespace

struct Engine::Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Parts>> free;
};

Engine::Pool& Engine::pool() {
  static auto* const pool = new Pool; // never destroyed: calls may come from other threads at exit
  return *pool;
}

Engine::Engine() {
  const std::lock_guard lock(pool().mutex);
  if (pool().free.empty()) {
    _parts = std::make_unique<Parts>().release();
  } else {
    _parts = pool().free.back().release();
    pool().free.pop_back();
  }
}

Engine::~Engine() {
  if (_parts == nullptr) return;
  _parts->memory.release_all();
  _parts->memory.shrink(most_kept);
  const std::lock_guard lock(pool().mutex);
  pool().free.emplace_back(_parts);
}

std::byte* Engine::acquire(std::int64_t units, const UnitShape& shape) {
  _parts->memory.set_shape(shape);
  return _parts->memory.address(_parts->memory.acquire(units));
}

void Engine::run(const Prepared& prepared, const Layout& layout, const Task& task,
                 const MpiTransport::Setup& setup) {
  Parts* const parts = std::exchange(_parts, nullptr);
  parts->transport.set_up(setup);
  parts->execution.run(prepared.program, layout, task, parts->transport);
  parts->transport.finish();
  parts->execution.shrink(most_kept);
  _parts = parts;
}

void Engine::start(const Prepared& prepared, const Layout& layout, const Task& task,
                   const MpiTransport::Setup& setup) {
  Parts* const parts = std::exchange(_parts, nullptr);
  parts->transport.set_up(setup);
  parts->execution.start(prepared.program, layout, task, parts->transport);
  _parts = parts;
}

Progress Engine::advance() {
  Parts* const parts = std::exchange(_parts, nullptr);
  Progress progress = Progress::none;
  for (const Transport::Token token : parts->transport.test()) {
    parts->execution.complete(token);
    progress = Progress::some;
  }
  if (progress == Progress::some) parts->execution.advance();
  if (parts->execution.finished() && parts->transport.idle()) {
    parts->execution.shrink(most_kept);
    progress = Progress::done;
  }
  _parts = parts;
  return progress;
}

void Engine::copy(const std::byte* from, std::byte* to, std::int64_t units,
                  const MpiTransport::Setup& setup) {
  _parts->transport.set_up(setup);
  _parts->transport.copy(from, to, units);
}

} // namespace thalweg::runtime
