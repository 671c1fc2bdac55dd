/*
 * What a driver of /dev/accel/accelN has to hold, in the manner of the kernel's own tests: accel MODEL.anec prints TAP. What
 * comes of the model's inputs the first time has to come of them every time.
 *
 * accel MODEL.anec once          submits once, and says how it ended
 * accel MODEL.anec lost          says how a buffer's making ends, and whether the engine is lost
 * accel MODEL.anec time N        says what a submission takes
 * accel MODEL.anec hold          submits until the device is gone, and says what became of its calls; then waits until
 *                                the file /tmp/gone is there, and says what became of its memory
 */
#include <sys/wait.h>
#include <signal.h>
#include <time.h>

#include "tap.h"

struct prime {
	uint32_t handle, flags;
	int32_t fd;
};
#define PRIME_HANDLE_TO_FD _IOWR('d', 0x2d, struct prime)
#define PRIME_FD_TO_HANDLE _IOWR('d', 0x2e, struct prime)

#define CHILDREN 4

static uint64_t result_of(unsigned seed)
{
	struct program program = fresh(seed);
	uint64_t is = result(&program);
	drop(&program);
	return is;
}

static void calls(int fd)
{
	struct drm_ane_caps caps = { 0 };
	TEST(call(fd, DRM_IOCTL_ANE_GET_CAPS, &caps) == 0);
	TEST(caps.size == sizeof caps && caps.abi == ANE_CAPS_ABI && caps.family == ANE_CAPS_FAMILY_H13);
	for (unsigned number = 0x44; number < 0x48; number++) {
		uint64_t argument[4] = { 0 };
		TEST(call(fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', number, 32), argument) == EINVAL);
	}
	struct drm_ane_bo_init init = { .pad = 1, .size = TILE };
	TEST(call(fd, DRM_IOCTL_ANE_BO_INIT, &init) == EINVAL);
	init = (struct drm_ane_bo_init){ .size = 0 };
	TEST(call(fd, DRM_IOCTL_ANE_BO_INIT, &init) == EINVAL);
	init = (struct drm_ane_bo_init){ .size = 1ull << 40 };
	TEST(call(fd, DRM_IOCTL_ANE_BO_INIT, &init) == ENOMEM);
	init = (struct drm_ane_bo_init){ .size = ~0ull };
	TEST(call(fd, DRM_IOCTL_ANE_BO_INIT, &init) == ENOMEM);
}

static void buffers(int fd)
{
	struct buffer one = new_buffer(fd, 5 * TILE);
	int zeros = 1;
	for (uint64_t at = 0; at < one.size; at++)
		zeros &= one.map[at] == 0;
	TEST(zeros);
	TEST(mmap(NULL, one.size + TILE, PROT_READ, MAP_SHARED, fd, (off_t)one.offset) == MAP_FAILED);
	TEST(mmap(NULL, TILE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, (off_t)one.offset) == MAP_FAILED);
	struct drm_ane_bo_free args = { .handle = one.handle, .pad = 1 };
	TEST(call(fd, DRM_IOCTL_ANE_BO_FREE, &args) == EINVAL);
	args.pad = 0;
	TEST(call(fd, DRM_IOCTL_ANE_BO_FREE, &args) == 0);
	TEST(call(fd, DRM_IOCTL_ANE_BO_FREE, &args) == EINVAL);
	/* Its memory is the process's for as long as it is mapped. */
	memset(one.map, 7, one.size);
	TEST(one.map[one.size - 1] == 7 && munmap(one.map, one.size) == 0);
}

static void submissions(struct program *program)
{
	const struct drm_ane_submit good = submission(program);
	struct drm_ane_submit bad;
#define REFUSED(change)                                                       \
	do {                                                                  \
		bad = good;                                                   \
		change;                                                       \
		report(call(program->fd, DRM_IOCTL_ANE_SUBMIT, &bad) == EINVAL, "EINVAL: " #change); \
	} while (0)
	REFUSED(bad.pad = 1);
	REFUSED(bad.td_count = 0);
	REFUSED(bad.td_count = 0x10000);
	REFUSED(bad.td_size = 0);
	REFUSED(bad.td_size = 6);
	REFUSED(bad.td_size = 0x40004);
	REFUSED(bad.td_size = (uint32_t)program->bootstrap.size + 4);
	REFUSED(bad.tsk_size = 0);
	REFUSED(bad.tsk_size = program->bars[0].size);
	REFUSED(bad.tsk_size = ~0ull);
	REFUSED(bad.handles[0] = 0);
	REFUSED(bad.handles[1] = bad.handles[0]);
	REFUSED(bad.handles[31] = 0xffff);
	REFUSED(bad.btsp_handle = 0);
	REFUSED(bad.btsp_handle = 0xffff);
}

/* Two files have the same device addresses, and each reaches its own memory. */
static void files(void)
{
	uint64_t alone[2] = { result_of(1), result_of(2) };
	struct program one = fresh(1), other = fresh(2);
	TEST(alone[0] != alone[1]);
	for (int turn = 0; turn < 3; turn++) {
		TEST(result(&one) == alone[0]);
		TEST(result(&other) == alone[1]);
	}
	/* A buffer that goes while its file has others, and one that takes its place. */
	struct buffer extra = new_buffer(one.fd, 3 * TILE);
	struct drm_ane_bo_free args = { .handle = extra.handle };
	CHECK(munmap(extra.map, extra.size) == 0 && call(one.fd, DRM_IOCTL_ANE_BO_FREE, &args) == 0);
	TEST(result(&one) == alone[0]);
	/* What one file has the other does not get. */
	struct prime prime = { .handle = one.bars[0].handle };
	if (call(one.fd, PRIME_HANDLE_TO_FD, &prime) == 0) {
		TEST(call(other.fd, PRIME_FD_TO_HANDLE, &prime) != 0);
		close(prime.fd);
	}
	/* A request without its input: the engine finds nothing mapped, and nobody else notices. */
	struct drm_ane_submit holed = submission(&one);
	for (unsigned bar = 2; bar < 32; bar++)
		holed.handles[bar] = 0;
	TEST(call(one.fd, DRM_IOCTL_ANE_SUBMIT, &holed) == EIO);
	TEST(result(&other) == alone[1]);
	TEST(result(&one) == alone[0]);
	drop(&one);
	TEST(result(&other) == alone[1]);
	drop(&other);
}

static void processes(void)
{
	uint64_t alone[CHILDREN];
	pid_t children[CHILDREN], killed;
	int good = 1, status;
	for (unsigned child = 0; child < CHILDREN; child++)
		alone[child] = result_of(10 + child);
	for (unsigned child = 0; child < CHILDREN; child++) {
		fflush(stdout);
		children[child] = fork();
		if (children[child])
			continue;
		struct program program = fresh(10 + child);
		for (int turn = 0; turn < 8; turn++)
			if (result(&program) != alone[child])
				_exit(1);
		_exit(0);
	}
	killed = fork();
	if (!killed) {
		struct program program = fresh(99);
		for (;;)
			run(&program);
	}
	for (unsigned child = 0; child < CHILDREN; child++) {
		CHECK(waitpid(children[child], &status, 0) == children[child]);
		good &= status == 0;
	}
	report(good, "processes side by side get what each gets alone");
	CHECK(kill(killed, SIGKILL) == 0 && waitpid(killed, &status, 0) == killed);
	TEST(WIFSIGNALED(status) && result_of(1) == result_of(1));
}

static void take_time(int times)
{
	struct program program = fresh(1);
	struct timespec from, to;
	CHECK(run(&program) == 0 && clock_gettime(CLOCK_MONOTONIC, &from) == 0);
	for (int turn = 0; turn < times; turn++)
		CHECK(run(&program) == 0);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &to) == 0);
	double each = ((double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3) / times;
	printf("%.1f us for each of %d submissions\n", each, times);
}

static void hold(void)
{
	struct program program = fresh(1);
	struct drm_ane_bo_init init = { .size = TILE };
	uint64_t expected = result(&program);
	int ended;
	printf("submits\n");
	fflush(stdout);
	while ((ended = run(&program)) == 0)
		;
	printf("submit: %s; ", strerror(ended));
	printf("buffer: %s; ", strerror(call(program.fd, DRM_IOCTL_ANE_BO_INIT, &init)));
	fflush(stdout);
	/* The kernel takes the mappings away only after calls have begun to fail. */
	while (access("/tmp/gone", F_OK) != 0)
		usleep(100000);
	/* The memory is still there, and so is what was in it. */
	printf("memory %s\n", sum(&program) == expected ? "kept" : "changed");
	drop(&program);
}

static void lost(void)
{
	struct drm_ane_bo_init init = { .size = TILE };
	struct drm_ane_get_param get = { .param = ANE_PARAM_STATE };
	int fd = open_device();
	CHECK(fd >= 0);
	printf("buffer: %s; ", strerror(call(fd, DRM_IOCTL_ANE_BO_INIT, &init)));
	CHECK(ioctl(fd, DRM_IOCTL_ANE_GET_PARAM, &get) == 0);
	printf("%s\n", get.value == ANE_STATE_DEAD ? "lost" : "there");
	close(fd);
}

int main(int argc, char **argv)
{
	CHECK(argc >= 2);
	model = argv[1];
	if (argc == 4 && strcmp(argv[2], "time") == 0) {
		take_time(atoi(argv[3]));
	} else if (argc == 3 && strcmp(argv[2], "hold") == 0) {
		hold();
	} else if (argc == 3 && strcmp(argv[2], "lost") == 0) {
		lost();
	} else if (argc == 3 && strcmp(argv[2], "once") == 0) {
		struct program program = fresh(1);
		int ended = run(&program);
		printf("%s\n", ended ? strerror(ended) : "done");
	} else {
		CHECK(argc == 2);
		struct program program = fresh(1);
		calls(program.fd);
		buffers(program.fd);
		submissions(&program);
		drop(&program);
		files();
		processes();
		printf("1..%d\n", count);
	}
	return failed != 0;
}
