/*
 * A process whose main thread has ended: the system lists no descriptors and no mappings of it, only of its threads. Files stay
 * open, and are opened and closed as before.
 */
#include <pthread.h>

#include "client.h"

static int fd;
static pthread_t leader;

static int answers(int fd)
{
	struct version version = { 0 };
	return ioctl(fd, IOCTL_VERSION, &version) == 0;
}

static void *goes_on(void *unused)
{
	(void)unused;
	CHECK(pthread_join(leader, NULL) == 0);
	for (int call = 0; call < 3; call++) {
		CHECK(answers(fd));
		/* Now and then a call looks which files are still open. */
		usleep(150000);
	}
	int other = open("/dev/accel/accel0", O_RDONLY);
	CHECK(other >= 0 && (fcntl(other, F_GETFL) & O_ACCMODE) == O_RDONLY && fcntl(other, F_GETFD) == 0);
	CHECK(answers(other) && close(other) == 0);
	for (int cycle = 0; cycle < 600; cycle++) {
		other = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);
		CHECK(other >= 0 && fcntl(other, F_GETFD) == FD_CLOEXEC && close(other) == 0);
	}
	CHECK(answers(fd));
	exit(0);
}

int main(void)
{
	pthread_t thread;
	leader = pthread_self();
	fd = open_device();
	CHECK(fd >= 0);
	/* The lowest number that is free, as of any file. */
	int lowest = dup(fd);
	CHECK(lowest >= 0 && close(lowest) == 0);
	int next = open("/dev/accel/accel0", O_RDWR);
	CHECK(next == lowest && close(next) == 0);
	CHECK(pthread_create(&thread, NULL, goes_on, NULL) == 0);
	pthread_exit(NULL);
}
