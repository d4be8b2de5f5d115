// What lives longer, shorter or elsewhere than MPI_COMM_WORLD and its ranks: lifetimes CASE
#include "check.hpp"

#include <array>
#include <climits>
#include <cstdlib>
#include <unistd.h>

namespace thalweg::test {
namespace {

void check_collectives(MPI_Comm comm) {
  const int rank = rank_of(comm), size = size_of(comm);
  for (int round = 0; round < 3; ++round) {
    int sum = 0, data = rank == size - 1 ? 7 + round : -1;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    check(sum == size * (size - 1) / 2, "allreduce");
    MPI_Bcast(&data, 1, MPI_INT, size - 1, comm);
    check(data == 7 + round, "bcast");
  }
}

int copied = 0, deleted = 0;
int count_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  ++copied;
  *flag = 1;
  return MPI_SUCCESS;
}
int count_deletion(MPI_Comm, int, void*, void*) {
  ++deleted;
  return MPI_SUCCESS;
}

/// What makes a communicator planned neither copies nor deletes the program's attributes of it.
void attributes() {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(count_copy, count_deletion, &key, nullptr);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of(MPI_COMM_WORLD), &comm);
  for (const MPI_Comm its : {MPI_COMM_WORLD, comm}) {
    MPI_Comm_set_attr(its, key, nullptr);
    check_collectives(its);
  }
  check(copied == 0 && deleted == 0, "attributes are left alone");
  MPI_Comm_free(&comm);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  check(copied == 0 && deleted == 2, "attributes are deleted by the program alone");
  MPI_Comm_free_keyval(&key);
}

MPI_Comm freed_last = MPI_COMM_NULL;

int call_in_finalize(MPI_Comm, int, void*, void*) {
  check_collectives(MPI_COMM_WORLD);
  MPI_Comm_free(&freed_last);
  return MPI_SUCCESS;
}

/// The program's own attribute of MPI_COMM_SELF makes calls in MPI_Finalize, and frees a
/// communicator, as MPI allows.
void finalize() {
  check_collectives(MPI_COMM_WORLD);
  // What its ranks begin to agree on in its first call is still open when it is freed.
  MPI_Comm_dup(MPI_COMM_WORLD, &freed_last);
  int value = 0;
  MPI_Bcast(&value, 1, MPI_INT, 0, freed_last);
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_in_finalize, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
}

/// Returns "NAME=value" of what the runtime reads, or, for the library, of what the test says that
/// it was: the runtime takes itself out of LD_PRELOAD.
std::string setting(const std::string& name, const char* from) {
  const char* const value = std::getenv(from);
  return name + "=" + (value != nullptr ? value : "");
}

/// A world that another one spawns, with the library loaded, and a communicator of both.
void spawn() {
  std::array<char, PATH_MAX> program{};
  if (readlink("/proc/self/exe", program.data(), program.size() - 1) < 0)
    return check(false, "the program's path");
  std::string preload = setting("LD_PRELOAD", "TEST_PRELOAD"),
              force = setting("THALWEG_FORCE", "THALWEG_FORCE"), name = "spawned";
  std::array<char*, 5> arguments = {preload.data(), force.data(), program.data(), name.data(),
                                    nullptr};
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm_spawn("/usr/bin/env", arguments.data(), 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                 MPI_ERRCODES_IGNORE);
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Intercomm_merge(inter, 0, &both);
  check_collectives(MPI_COMM_WORLD);
  check_collectives(both);
  MPI_Comm_free(&both);
  MPI_Comm_disconnect(&inter);
}
void spawned() {
  MPI_Comm parents = MPI_COMM_NULL, both = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parents);
  if (parents == MPI_COMM_NULL) return check(false, "it is spawned");
  MPI_Intercomm_merge(parents, 1, &both);
  check_collectives(MPI_COMM_WORLD);
  check_collectives(both);
  MPI_Comm_free(&both);
  MPI_Comm_disconnect(&parents);
}

/// Many calls, none of them on MPI_COMM_WORLD, but all of all its ranks: in its order, and not.
void duplicates() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm same = MPI_COMM_NULL, reversed = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &same);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  for (int call = 0; call < 4'000; ++call)
    for (MPI_Comm comm : {same, reversed}) {
      int sum = 0, ranks = 0;
      MPI_Comm_size(comm, &ranks);
      MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
      check(sum == ranks * (ranks - 1) / 2, "the sum");
    }
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&same);
}

#if MPI_VERSION >= 4
/// A communicator of a session.
void session() {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "lifetimes", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  check_collectives(comm);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
#endif

} // namespace
} // namespace thalweg::test

int main(int argc, char** argv) {
  using namespace thalweg::test;
  const Cases cases = {
#if MPI_VERSION >= 4
    {"session", session},
    {"session-alone", session},
#endif
    {"attributes", attributes},
    {"duplicates", duplicates},
    {"finalize", finalize},
    {"spawn", spawn},
    {"spawned", spawned}
  };
  const std::string wanted = argc > 1 ? argv[1] : "";
  const bool has_world = wanted != "session-alone";
  if (has_world) MPI_Init(&argc, &argv);
  run_case(cases, wanted);
  if (has_world) MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
