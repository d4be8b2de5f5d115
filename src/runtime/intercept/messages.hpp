#pragma once

#include "runtime/mpi/native.hpp"

/// The program's point-to-point messages, counted by their senders in the communication matrix.
namespace thalweg::runtime {

/// The data and the destination of messages.
struct Message {
  int to;
  MPI_Count count;
  MPI_Datatype type;
  MPI_Comm comm;
};

/// Counts a message that the MPI library has accepted, if messages are recorded. Local.
void count_message(const Message& message);
/// Makes count_started() count a message whenever the request is started.
void remember_message(const Message& message, MPI_Request request);
/// Counts the messages of requests that have been started.
void count_started(int requests_started, const MPI_Request* started);
/// Forgets a request that is about to be freed.
void forget_message(MPI_Request request);

} // namespace thalweg::runtime
